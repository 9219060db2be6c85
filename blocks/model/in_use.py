"""The settings of a configuration that do something in it."""

from collections.abc import Iterator
from typing import Any

from blocks.model.config import ModelConfig
from blocks.model.kinds import (
    Architecture,
    NormKind,
    NormPlacement,
    PositionKind,
    RopeScaling,
    TokenMixer,
)


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
        "d_expert": config.d_expert,
        "d_rotary": config.d_rotary,
        "d_value": config.d_value,
        "n_dense_layers": config.n_dense_layers,
    }
    return {name: value for name, value in (config.flat() | followed).items() if name not in idle}


def _idle(config: ModelConfig) -> Iterator[str]:
    """Fields that change nothing in this configuration."""
    yield from _idle_in_architecture(config.architecture)
    if config.token_mixer is TokenMixer.ATTENTION or not config.has_attention:
        yield "attention_every"
    if not config.has_attention:
        yield from _idle_without_attention(config)
    if config.is_latent:
        yield from ("n_kv_heads", "qk_norm", "rotary_share")
    else:
        yield from vars(config.latent)
    if config.is_latent or not config.attention.qk_norm:
        yield from ("qk_norm_scale", "qk_norm_whole")
    if not config.local_window:
        yield "global_every"
    if not config.local_window or not config.attention.global_every:
        yield "global_first"
    yield from _idle_in_position(config)
    yield from _idle_in_norm(config)
    yield from _idle_in_feed_forward(config)


def _idle_in_architecture(architecture: Architecture) -> Iterator[str]:
    """What only others have."""
    if not architecture.reads_tokens:
        yield from ("vocab_size", "tie_embeddings", "embedding_norm", "scale_embeddings")
        yield from ("scale_output", "unembed_bias", "logit_softcap")
        yield from ("embedding_multiplier", "logits_scaling")
    if architecture is not Architecture.GPT:
        yield "n_mtp_modules"
    if architecture is not Architecture.ENCODER:
        yield from ("n_segments", "pooler", "prediction_head")
    if architecture is not Architecture.ENCODER_DECODER:
        yield from ("n_decoder_layers", "share_embeddings", "relative_bias")


def _idle_without_attention(config: ModelConfig) -> Iterator[str]:
    """A state has no scores; that of a GRU has no heads either."""
    idle = {*vars(config.attention)} - {"n_heads", "d_head", "attention_bias", "out_bias"}
    yield from (*idle, "attention_multiplier")
    if config.token_mixer is TokenMixer.GRU:
        yield from ("n_heads", "d_head")
    if not config.position.position_kind.is_added:
        yield "position_kind"


def _idle_in_position(config: ModelConfig) -> Iterator[str]:
    is_rope = config.has_attention and config.position.position_kind is PositionKind.ROPE
    if not is_rope:
        yield from ("rope_base", "rotary_share", "local_rope_base")
    if not config.position.nope_every or not is_rope:
        yield "nope_every"
    yield from _idle_in_stretching(config.position.rope_scaling if is_rope else RopeScaling.NONE)
    names = ("rope_short_factors", "rope_long_factors")
    yield from (name for name, each in zip(names, config.rope_factors, strict=True) if not each)
    if not config.local_window:
        yield "local_rope_base"
    if config.position.position_kind is not PositionKind.LEARNED:
        yield "position_offset"
    if config.position.position_kind is not PositionKind.SINUSOIDAL:
        yield "sines_first"


def _idle_in_stretching(scaling: RopeScaling) -> Iterator[str]:
    if scaling is RopeScaling.NONE:
        yield from ("rope_scaling", "rope_factor", "rope_trained_len")
    elif scaling in (RopeScaling.LINEAR, RopeScaling.NTK):
        yield "rope_trained_len"
    if scaling is not RopeScaling.YARN:
        yield "yarn_whole_pairs"
    if scaling is not RopeScaling.LONGROPE:
        yield from ("rope_short_factors", "rope_long_factors")
    if scaling not in (RopeScaling.YARN, RopeScaling.LONGROPE):
        yield "rope_attention_factor"


def _idle_in_norm(config: ModelConfig) -> Iterator[str]:
    if config.norm.norm_kind is NormKind.NONE:
        yield from ("norm_placement", "norm_eps", "norm_affine", "embedding_norm", "parallel_norms")
        yield from ("norm_offset", "norm_bias")
    elif config.norm.norm_placement is not NormPlacement.PARALLEL:
        yield "parallel_norms"
    if not config.norm.norm_affine:
        yield from ("norm_offset", "norm_bias")
    elif config.norm.norm_kind is NormKind.RMS_NORM:
        yield "norm_bias"
    if not config.lacks_first_norm:
        yield "first_norm"


def _idle_in_feed_forward(config: ModelConfig) -> Iterator[str]:
    if config.attention_only:
        yield from ("d_ff", "activation", "feed_forward_bias", "n_experts")
    if config.attention_only or not config.feed_forward.activation.is_gated:
        yield from ("gate_limit", "up_offset")
    if config.attention_only or config.n_experts == 1:
        yield from (name for name in vars(config.experts) if name != "n_experts")
    elif config.experts.n_expert_groups == 1:
        yield "n_active_groups"
    if config.architecture is Architecture.ENCODER_DECODER:
        yield "n_dense_layers"
