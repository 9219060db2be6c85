"""Where the norm of a configuration sits, and the same configuration with its norm elsewhere."""

from blocks.model.config import ModelConfig
from blocks.model.kinds import NormKind, NormPlacement

NO_NORM = "none"
PLACEMENTS = (*map(str, NormPlacement), NO_NORM)


def own_placement(config: ModelConfig) -> str:
    """Return the norm placement of a configuration; "none" where it has no norm."""
    has_norm = config.norm.norm_kind is not NormKind.NONE
    return str(config.norm.norm_placement) if has_norm else NO_NORM


def possible_placements(config: ModelConfig) -> tuple[str, ...]:
    """All but parallel where there is no feed-forward layer to be parallel with."""
    return tuple(
        name
        for name in PLACEMENTS
        if not (config.attention_only and name == NormPlacement.PARALLEL)
    )


def placed(config: ModelConfig, placement: str) -> ModelConfig:
    """Move the norm of a configuration there, or drop it; LayerNorm where it had none."""
    if placement == own_placement(config):
        return config
    if placement == NO_NORM:
        return config.replace(norm_kind=NormKind.NONE)
    is_none = config.norm.norm_kind is NormKind.NONE
    kind = NormKind.LAYER_NORM if is_none else config.norm.norm_kind
    return config.replace(norm_kind=kind, norm_placement=placement)
