"""Presets hold the numbers that were published."""

import pytest
import torch
from published import CONFIGS, COUNTS, count_theirs
from toy import draw

from blocks import ModelConfig, build, count_parameters
from blocks.model.masks import MaskKind
from blocks.model.models import count_built
from blocks.model.presets import (
    ENCODER_DECODER_PRESETS,
    ENCODER_DECODER_TABLE,
    PRESET_TABLE,
    PUBLISHED_TABLE,
)
from blocks.model.source_target import SourceTarget

PRESETS = {name: preset.config for name, preset in PRESET_TABLE.items()}
EVERY = PRESET_TABLE | ENCODER_DECODER_TABLE | PUBLISHED_TABLE
# d_model, n_heads, n_kv_heads, d_ff: the papers' tables and the models' config.json
PUBLISHED_SIZES = {
    "course": (256, 8, 8, 1024),
    "transformer-base": (512, 8, 8, 2048),
    "transformer-big": (1024, 16, 16, 4096),
    "bert-base": (768, 12, 12, 3072),
    "gpt2-small": (768, 12, 12, 3072),
    "smollm2-135m": (576, 9, 3, 1536),
    "tinyllama-1.1b": (2048, 32, 4, 5632),
}
# Vaswani et al. 2017, table 3, in millions, for a vocabulary of "about 37,000"; T5 and BART
# exactly.
VASWANI_MILLIONS = {"vaswani-base": 65, "vaswani-big": 213}
LARGEST_BUILT = 3e9


def test_every_preset_has_its_published_sizes_here():
    assert PUBLISHED_SIZES.keys() == PRESETS.keys()


@pytest.mark.parametrize("name", PRESETS)
def test_sizes_are_those_published(name: str):
    config = PRESETS[name]
    sizes = (config.d_model, config.n_heads, config.n_kv_heads, config.d_ff)
    assert sizes == PUBLISHED_SIZES[name]


def test_every_published_model_has_its_count_here():
    known = EVERY.keys() - {"course", "transformer-base", "transformer-big", *VASWANI_MILLIONS}
    assert known == COUNTS.keys() == CONFIGS.keys()


@pytest.mark.parametrize("name", COUNTS)
def test_the_formula_the_published_count_and_transformers_agree(name: str):
    counted = count_parameters(EVERY[name].config)["count"].sum()
    assert counted == COUNTS[name]
    assert count_theirs(name) == COUNTS[name]
    if counted < LARGEST_BUILT:
        assert count_built(EVERY[name].config) == COUNTS[name]


@pytest.mark.parametrize("config", PRESETS.values(), ids=PRESETS)
def test_a_preset_runs_at_toy_width_as_a_block(config: ModelConfig):
    small = {"d_model": 24, "n_heads": 6, "n_kv_heads": 3, "d_ff": 32, "n_layers": 1}
    narrow, _ = config.nearest(architecture="block", **small)
    x = draw(1, 5, narrow.d_model)
    assert build(narrow)(x).shape == x.shape


WHOLE = {name: config for name, config in PRESETS.items() if config.architecture.reads_tokens}


@pytest.mark.parametrize("config", WHOLE.values(), ids=WHOLE)
def test_a_preset_runs_at_toy_size_whole(config: ModelConfig):
    small = {"d_model": 24, "n_heads": 6, "n_kv_heads": 3, "d_ff": 32, "n_layers": 2}
    narrow, _ = config.nearest(vocab_size=11, **small)
    assert build(narrow)(torch.arange(5)[None]).shape == (1, 5, 11)


@pytest.mark.parametrize("name", ENCODER_DECODER_PRESETS)
def test_an_encoder_decoder_has_the_published_number_of_parameters(name: str):
    config = ENCODER_DECODER_PRESETS[name]
    total = count_parameters(config)["count"].sum()
    assert total == count_built(config)
    if name in VASWANI_MILLIONS:
        assert total / 1e6 == pytest.approx(VASWANI_MILLIONS[name], rel=0.035)


@pytest.mark.parametrize("config", ENCODER_DECODER_PRESETS.values(), ids=ENCODER_DECODER_PRESETS)
def test_an_encoder_decoder_runs_at_toy_size(config: ModelConfig):
    small = {"d_model": 24, "n_heads": 6, "d_ff": 32, "n_layers": 2, "vocab_size": 11}
    ids = SourceTarget(torch.arange(5)[None], torch.arange(3)[None])
    assert build(config.replace(**small))(ids).shape == (1, 3, 11)


@pytest.mark.parametrize("preset", EVERY.values(), ids=EVERY)
def test_a_preset_says_what_it_is_and_where_it_comes_from(preset):
    assert preset.title and preset.source
    assert preset.mask_kind in MaskKind
