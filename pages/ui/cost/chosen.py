"""What the reader has set on the page of costs, as plain values to count with."""

from typing import NamedTuple

from blocks import ModelConfig
from blocks.cost.fit import OptimizerStates, Setup, WeightFormat
from blocks.cost.passes import PassKind, pass_kinds
from blocks.cost.training_cost import compute_optimal_tokens
from pages.ui import link
from pages.ui.cost.fields import MOST_TOKENS, TRAINED_FORMATS


class Shape(NamedTuple):
    """Tokens of a text, and texts at once."""

    n: int
    batch: int


class Plan(NamedTuple):
    """How a model is to be trained."""

    n_tokens: int
    device: str
    n_devices: int
    utilisation: float
    usable: float


def shape() -> Shape:
    """The same for the whole page."""
    return Shape(link.value("context_len"), link.value("n_texts"))


def pass_kind(config: ModelConfig) -> PassKind:
    """What goes through; an encoder writes nothing and has no prompt."""
    kind = PassKind(link.value("counted_pass"))
    return kind if kind in pass_kinds(config) else PassKind.TRAINING


def is_training() -> bool:
    """Whether memory is asked for to train, or to use."""
    return link.value("memory_use") == "training"


def setup(*, is_training: bool) -> Setup:
    """How it is done; nobody trains in whole numbers here."""
    wanted = link.value("weight_format")
    if is_training and wanted not in TRAINED_FORMATS:
        wanted = WeightFormat.BFLOAT16
    return Setup(
        weight_format=WeightFormat(wanted),
        optimizer=OptimizerStates(link.value("optimizer_states")),
        master_weights=link.value("master_weights"),
        fused=link.value("fused_attention"),
        checkpointing=link.value("checkpointing"),
        n_devices=link.value("n_training_devices"),
    )


def plan(config: ModelConfig) -> Plan:
    """As many tokens as were asked for, or twenty for each parameter."""
    n_tokens = link.value("n_training_tokens") or compute_optimal_tokens(config)
    return Plan(
        min(n_tokens, MOST_TOKENS),
        link.value("training_device"),
        link.value("n_training_devices"),
        link.value("utilisation"),
        link.value("usable_memory"),
    )
