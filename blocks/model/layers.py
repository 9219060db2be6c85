"""One layer of a Transformer: attention, then the feed-forward layer."""

from torch import Tensor, nn

from blocks.model.attention import Attention, CrossAttention
from blocks.model.config import ModelConfig
from blocks.model.dropout import Dropout
from blocks.model.experts import build_feed_forward
from blocks.model.held_cache import HeldLayer
from blocks.model.kinds import NormPlacement
from blocks.model.kv_cache import Cache, CrossCache, LayerCache
from blocks.model.mixers import build_mixer
from blocks.model.normalization import build_norm
from blocks.model.probe import Stage
from blocks.model.residual import RESIDUALS, Residual

LayerType = type["EncoderLayer | ParallelLayer | AttentionLayer"]


def encoder_layer(config: ModelConfig, layer: int = 0) -> nn.Module:
    """Build a layer of this configuration, counted from 0."""
    return layer_type(config)(config, layer)


def layer_type(config: ModelConfig) -> LayerType:
    """Class of the layer of this configuration."""
    if config.norm.norm_placement is NormPlacement.PARALLEL:
        return ParallelLayer
    return AttentionLayer if config.attention_only else EncoderLayer


def _of_attention(config: ModelConfig, layer: int, stream: str) -> Residual:
    """Build what joins attention to the stream; the first layer may read it without a norm."""
    residual = RESIDUALS[config.norm.norm_placement](config, "attention", stream)
    if not config.norms_attention(layer):
        residual.norm = Stage("attention_norm")
    return residual


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each joined to the residual stream.

    (batch, seq, d_model) to the same. Vaswani et al. 2017, figure 1, left.
    """

    def __init__(self, config: ModelConfig, layer: int = 0):
        super().__init__()
        residual = RESIDUALS[config.norm.norm_placement]
        self.resid_pre = Stage("resid_pre")
        self.attention = build_mixer(config, layer)
        self.attention_residual = _of_attention(config, layer, "resid_mid")
        self.feed_forward = build_feed_forward(config, layer)
        self.feed_forward_residual = residual(config, "feed_forward", "resid_post")

    def forward(
        self, x: Tensor, mask: Tensor | None = None, past: Cache | HeldLayer | None = None
    ) -> Tensor:
        """Apply self-attention, then feed-forward."""
        x = self.resid_pre(x)
        x = self.attention_residual(x, lambda h: self.attention(h, mask, past))
        return self.feed_forward_residual(x, self.feed_forward)


class AttentionLayer(nn.Module):
    """Self-attention alone, joined to the residual stream.

    (batch, seq, d_model) to the same. Elhage et al. 2021, "attention-only".
    """

    def __init__(self, config: ModelConfig, layer: int = 0):
        super().__init__()
        self.resid_pre = Stage("resid_pre")
        self.attention = build_mixer(config, layer)
        self.attention_residual = _of_attention(config, layer, "resid_post")

    def forward(
        self, x: Tensor, mask: Tensor | None = None, past: Cache | HeldLayer | None = None
    ) -> Tensor:
        """Tokens read from each other."""
        x = self.resid_pre(x)
        return self.attention_residual(x, lambda h: self.attention(h, mask, past))


class ParallelLayer(nn.Module):
    """x + attention(norm(x)) + feed_forward(norm(x)): both read the same norm.

    (batch, seq, d_model) to the same. Wang and Komatsuzaki 2021 (GPT-J); with a norm for each,
    Black et al. 2022 (GPT-NeoX).
    """

    def __init__(self, config: ModelConfig, layer: int = 0):
        super().__init__()
        self.is_connected = config.norm.residual
        self.resid_pre = Stage("resid_pre")
        has_two = config.norm.parallel_norms > 1
        self.norm = build_norm(config, Stage("attention_norm" if has_two else "norm"))
        wide_norm = build_norm(config, Stage("feed_forward_norm")) if has_two else None
        self.feed_forward_norm = wide_norm
        self.attention = build_mixer(config, layer)
        self.attention_out = Stage("attention_out")
        self.feed_forward = build_feed_forward(config, layer)
        self.feed_forward_out = Stage("feed_forward_out")
        self.dropout = Dropout(config.dropout)
        self.resid_post = Stage("resid_post")

    def forward(
        self, x: Tensor, mask: Tensor | None = None, past: Cache | HeldLayer | None = None
    ) -> Tensor:
        """Read from the others and think alone at the same time."""
        x = self.resid_pre(x)
        h = self.norm(x)
        attention = self.attention_out(self.dropout(self.attention(h, mask, past)))
        wide = h if self.feed_forward_norm is None else self.feed_forward_norm(x)
        feed_forward = self.feed_forward_out(self.dropout(self.feed_forward(wide)))
        write = attention + feed_forward
        return self.resid_post(x + write if self.is_connected else write)


class DecoderLayer(nn.Module):
    """Self-attention, cross-attention, then feed-forward, each joined to the residual stream.

    (batch, target, d_model) and the encoder's output (batch, source, d_model) to the first.
    Vaswani et al. 2017, figure 1, right; with `attention_only` without the feed-forward layer.
    """

    def __init__(self, config: ModelConfig, layer: int = 0):
        super().__init__()
        residual, is_narrow = RESIDUALS[config.norm.norm_placement], config.attention_only
        self.resid_pre = Stage("resid_pre")
        self.attention = Attention(config, layer)
        self.attention_residual = residual(config, "attention", "resid_mid")
        self.cross_attention = CrossAttention(config)
        cross_stream = "resid_post" if is_narrow else "resid_cross"
        self.cross_attention_residual = residual(config, "cross_attention", cross_stream)
        if not is_narrow:
            self.feed_forward = build_feed_forward(config, layer)
            self.feed_forward_residual = residual(config, "feed_forward", "resid_post")
        self.is_narrow = is_narrow

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        past: LayerCache | None = None,
        cross_past: CrossCache | None = None,
    ) -> Tensor:
        """Apply self-attention, cross-attention, then feed-forward.

        `mask` is (…, target, target), `memory_mask` (…, target, source), both True where a query
        may see a key.
        """
        x = self.resid_pre(x)
        x = self.attention_residual(x, lambda h: self.attention(h, mask, past))
        x = self.cross_attention_residual(
            x, lambda h: self.cross_attention(h, memory, memory_mask, cross_past)
        )
        return x if self.is_narrow else self.feed_forward_residual(x, self.feed_forward)
