"""The code that runs for a configuration, for readers who want to see it."""

from collections.abc import Callable
from typing import Any

from blocks.model import normalization, positions
from blocks.model.attention import attention_pattern, attention_scores
from blocks.model.config import ModelConfig
from blocks.model.experts import feed_forward_source
from blocks.model.kinds import NormKind, NormPlacement, PositionKind
from blocks.model.layers import layer_type
from blocks.model.mixers import mixer_type
from blocks.model.residual import RESIDUALS

Source = Callable[..., Any]

NORMS: dict[NormKind, Source] = {
    NormKind.LAYER_NORM: normalization.LayerNorm,
    NormKind.RMS_NORM: normalization.RMSNorm,
    NormKind.BATCH_NORM: normalization.BatchNorm,
}
POSITIONS: dict[PositionKind, Source] = {
    PositionKind.SINUSOIDAL: positions.sinusoidal_table,
    PositionKind.LEARNED: positions.Learned,
    PositionKind.ROPE: positions.Rotary,
    PositionKind.ALIBI: positions.alibi_bias,
}


def layer_source(config: ModelConfig) -> tuple[Source, ...]:
    """The layer, and how its sub-layers are joined to the stream."""
    if config.norm.norm_placement is NormPlacement.PARALLEL:
        return (layer_type(config),)
    return layer_type(config), RESIDUALS[config.norm.norm_placement]


def part_source(config: ModelConfig, part: str) -> tuple[Source, ...]:
    """What does the work of one kind of part (see `inspection.wiring`)."""
    found: dict[str, tuple[Source | None, ...]] = {
        "attention": _mixers(config),
        "feed_forward": feed_forward_source(config),
        "norm": (NORMS.get(config.norm.norm_kind),),
        "position": (POSITIONS.get(config.position.position_kind),),
        "residual": layer_source(config)[-1:],
    }
    return tuple(source for source in found.get(part, ()) if source is not None)


def _mixers(config: ModelConfig) -> tuple[Source, ...]:
    """How tokens meet: of a hybrid both ways, that of the first layer first."""
    layers = (0, *config.attention_layers[:1])
    return tuple(dict.fromkeys(mixer_type(config, layer) for layer in layers))


def heads_source() -> tuple[Source, ...]:
    """How a pattern comes about."""
    return attention_scores, attention_pattern


def positions_source(kind: PositionKind) -> tuple[Source, ...]:
    """How a kind tells positions; `none` has no code."""
    inside = (positions.turns, positions.turn_pairs) if kind is PositionKind.ROPE else ()
    return tuple(source for source in (POSITIONS.get(kind), *inside) if source is not None)
