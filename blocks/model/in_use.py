"""The settings of a configuration that do something in it."""

from collections.abc import Iterator
from typing import Any

from blocks.model.config import ModelConfig
from blocks.model.kinds import Architecture, NormKind, NormPlacement, PositionKind


def settings_in_use(config: ModelConfig) -> dict[str, Any]:
    """Every field by its own name with the value that counts; what does nothing is left out.

    A value that follows another (d_ff of None is 4·d_model) is said as the number that it is.
    """
    idle = {*_idle(config)}
    followed = {
        "n_decoder_layers": config.n_decoder_layers,
        "n_kv_heads": config.n_kv_heads,
        "d_head": config.d_head,
        "out_bias": config.has_out_bias,
        "scale_embeddings": config.scales_embeddings,
        "d_ff": config.d_ff,
    }
    return {name: value for name, value in (config.flat() | followed).items() if name not in idle}


def _idle(config: ModelConfig) -> Iterator[str]:
    """Fields that change nothing in this configuration."""
    reads_tokens = config.architecture.reads_tokens
    if not reads_tokens:
        yield from ("vocab_size", "tie_embeddings", "embedding_norm", "scale_embeddings")
        yield from ("scale_output", "unembed_bias")
    if config.architecture is not Architecture.ENCODER:
        yield from ("n_segments", "pooler", "prediction_head")
    if config.architecture is not Architecture.ENCODER_DECODER:
        yield from ("n_decoder_layers", "share_embeddings", "relative_bias")
    if not config.attention.qk_norm:
        yield "qk_norm_scale"
    yield from _idle_in_position(config)
    yield from _idle_in_norm(config)
    yield from _idle_in_feed_forward(config)


def _idle_in_position(config: ModelConfig) -> Iterator[str]:
    if config.position.position_kind is not PositionKind.ROPE:
        yield from ("rope_base", "rotary_share")
    if config.position.position_kind is not PositionKind.LEARNED:
        yield "position_offset"


def _idle_in_norm(config: ModelConfig) -> Iterator[str]:
    if config.norm.norm_kind is NormKind.NONE:
        yield from ("norm_placement", "norm_eps", "norm_affine", "embedding_norm", "parallel_norms")
        yield "norm_offset"
    elif config.norm.norm_placement is not NormPlacement.PARALLEL:
        yield "parallel_norms"
    if not config.norm.norm_affine:
        yield "norm_offset"


def _idle_in_feed_forward(config: ModelConfig) -> Iterator[str]:
    if config.attention_only:
        yield from ("d_ff", "activation", "feed_forward_bias", "n_experts")
    if config.attention_only or config.n_experts == 1:
        yield from ("n_active_experts", "expert_capacity")
