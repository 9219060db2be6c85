"""How tokens learn of each other: attention, or a state that is passed from token to token."""

from torch import nn

from blocks.model.attention import Attention
from blocks.model.config import ModelConfig
from blocks.model.gated_delta import GatedDelta
from blocks.model.gru import GRU
from blocks.model.kinds import TokenMixer
from blocks.model.latent_attention import LatentAttention

MIXERS: dict[TokenMixer, type[nn.Module]] = {
    TokenMixer.GRU: GRU,
    TokenMixer.GATED_DELTA: GatedDelta,
}


def build_mixer(config: ModelConfig, layer: int) -> nn.Module:
    """Build what the layer has in the place of attention, or its self-attention."""
    return mixer_type(config, layer)(config, layer)


def mixer_type(config: ModelConfig, layer: int) -> type[nn.Module]:
    """Class of it."""
    attention = LatentAttention if config.is_latent else Attention
    return MIXERS.get(config.mixer_of(layer), attention)
