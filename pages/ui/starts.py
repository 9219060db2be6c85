"""Where a configuration starts from: a published architecture, or a trained model."""

from typing import NamedTuple

from blocks import PRESETS, ModelConfig
from blocks.faults import N_
from blocks.kinds import Architecture
from blocks.masks import MaskKind
from blocks.presets import PRESET_TABLE
from blocks.text.tokenizer import Tokenizer
from blocks.weights.model_file import ModelFile
from blocks.weights.pocket import pocket, pocket_names

POCKET_TITLES = {
    "stories-en-zh": N_("Stories · trained"),
    "induction": N_("Induction · trained"),
    "sort": N_("Sorting · trained"),
    "masked-words": N_("Masked words · trained"),
}


class Start(NamedTuple):
    """A configuration, the mask it is used with, and its trained weights where it has some."""

    title: str
    config: ModelConfig
    mask_kind: MaskKind
    source: str
    model: ModelFile | None = None


def names() -> tuple[str, ...]:
    """All that can be started from, trained models first."""
    return (*pocket_names(), *PRESETS)


def start(name: str) -> Start:
    """One of them."""
    if name in PRESET_TABLE:
        preset = PRESET_TABLE[name]
        return Start(preset.title, preset.config, preset.mask_kind, preset.source)
    model = pocket(name)
    is_gpt = model.config.architecture is Architecture.GPT
    mask = MaskKind.CAUSAL if is_gpt else MaskKind.NONE
    source = N_("trained by us; `make pocket` trains it anew")
    return Start(POCKET_TITLES.get(name, name), model.config, mask, source, model)


def tokenizer(name: str) -> Tokenizer | None:
    """That of the trained weights; None where there are none."""
    model = start(name).model
    return None if model is None else model.tokenizer
