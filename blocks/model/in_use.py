"""Where a setting applies: what does something in a configuration, and what may be changed in it.

Whoever shows, compares or offers settings asks here.
"""

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from blocks.model.config import ModelConfig
from blocks.model.kinds import (
    Architecture,
    NormKind,
    NormPlacement,
    PositionKind,
    RopeScaling,
    RouterKind,
    TokenMixer,
)
from blocks.model.legal import NOT_WITH_LATENTS


def settings_in_use(config: ModelConfig) -> dict[str, Any]:
    """Every field by its own name with the value that counts; what does nothing is left out.

    A value that follows another (d_ff of None is 4·d_model) is said as the number that it is.
    """
    idle = {*_without_effect(config), *_switched_off(config)}
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
        "n_state_heads": config.n_state_heads,
        "n_key_heads": config.n_key_heads,
        "d_state": config.d_state,
        "n_dense_layers": config.n_dense_layers,
    }
    return {name: value for name, value in (config.flat() | followed).items() if name not in idle}


@lru_cache(maxsize=256)
def settable(config: ModelConfig) -> frozenset[str]:
    """The fields of which another value makes another model, or has others do something in it.

    Another value may mend other fields; a field that is itself mended back is not among these.
    """
    return frozenset(config.flat()) - {*_without_effect(config), *_mended_back(config)}


def _without_effect(config: ModelConfig) -> Iterator[str]:
    """Fields that change nothing in this configuration, whatever they are."""
    yield from _without_effect_in(config.architecture)
    if config.token_mixer is TokenMixer.ATTENTION:
        yield "attention_every"
    if not (config.token_mixer is TokenMixer.GATED_DELTA and config.n_mixer_layers):
        yield from vars(config.state)
    if config.has_attention:
        yield from _without_effect_in_attention(config)
    else:
        yield from _without_effect_in_states(config)
    yield from _without_effect_in_position(config)
    yield from _without_effect_in_norm(config)
    yield from _without_effect_in_feed_forward(config)


def _switched_off(config: ModelConfig) -> Iterator[str]:
    """Fields that would do something, but do nothing as they are."""
    if not config.has_attention:
        yield "attention_every"
    if not config.position.nope_every:
        yield "nope_every"
    if config.position.rope_scaling is RopeScaling.NONE:
        yield "rope_scaling"
    if not config.is_latent:
        yield "d_kv_latent"
    if not config.lacks_first_norm:
        yield "first_norm"
    if not _has_norm(config) and not _is_parallel(config):
        yield "norm_placement"
    names = ("rope_short_factors", "rope_long_factors")
    yield from (name for name, each in zip(names, config.rope_factors, strict=True) if not each)


def _mended_back(config: ModelConfig) -> Iterator[str]:
    """Fields that may not have another value in this configuration: see `legal`."""
    if config.architecture not in (Architecture.BLOCK, Architecture.GPT):
        yield "token_mixer"
    if config.architecture is Architecture.ENCODER_DECODER:
        yield "d_kv_latent"
    if config.is_latent:
        yield from NOT_WITH_LATENTS
    norms_outputs = config.norm.norm_placement in (NormPlacement.SANDWICH, NormPlacement.RES_POST)
    if norms_outputs and _has_norm(config):
        yield "residual_multiplier"


def _without_effect_in(architecture: Architecture) -> Iterator[str]:
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


def _without_effect_in_states(config: ModelConfig) -> Iterator[str]:
    """A state has no scores; that of a GRU has no heads either."""
    kept = {"n_heads", "d_head", "attention_bias", "out_bias"}
    yield from {*vars(config.attention), *vars(config.latent)} - kept
    yield "attention_multiplier"
    if config.token_mixer is TokenMixer.GRU:
        yield from ("n_heads", "d_head")


def _without_effect_in_attention(config: ModelConfig) -> Iterator[str]:
    attention = config.attention
    if config.is_latent:
        yield from ("n_kv_heads", "qk_norm", "rotary_share")
    else:
        yield from vars(config.latent).keys() - {"d_kv_latent"}
    if config.is_latent or not attention.qk_norm:
        yield from ("qk_norm_scale", "qk_norm_whole")
    if config.scales.attention_multiplier:
        yield "scale_scores"
    if not config.local_window:
        yield "global_every"
    if not config.local_window or attention.global_every < 2:
        yield "global_first"


def _attending(config: ModelConfig) -> range:
    """The layers that attend, of the stack that has more of them."""
    n_layers = max(config.n_layers, config.n_decoder_layers)
    return config.attention_layers if config.is_hybrid else range(n_layers)


def _without_effect_in_position(config: ModelConfig) -> Iterator[str]:
    position = config.position
    is_rope = config.has_attention and position.position_kind is PositionKind.ROPE
    if not is_rope:
        yield "nope_every"
    period = math.lcm(max(1, position.nope_every), max(1, config.attention.global_every))
    layers = _attending(config)[:period] if is_rope else []  # those after them repeat these
    turning = [layer for layer in layers if config.turns(layer)]
    local = [layer for layer in turning if config.window_of(layer)]
    if not turning:
        yield "rotary_share"
    if not local:
        yield "local_rope_base"
    is_usual = len(turning) > (len(local) if position.local_rope_base > 1 else 0)
    if not is_usual:
        yield from ("rope_base", "rope_scaling")
    yield from _without_effect_in_scaling(position.rope_scaling if is_usual else RopeScaling.NONE)
    if position.position_kind is not PositionKind.LEARNED:
        yield "position_offset"
    if position.position_kind is not PositionKind.SINUSOIDAL:
        yield "sines_first"


def _without_effect_in_scaling(scaling: RopeScaling) -> Iterator[str]:
    if scaling is RopeScaling.NONE:
        yield "rope_factor"
    if scaling not in (RopeScaling.YARN, RopeScaling.LLAMA3, RopeScaling.LONGROPE):
        yield "rope_trained_len"
    if scaling is not RopeScaling.YARN:
        yield "yarn_whole_pairs"
    if scaling is not RopeScaling.LONGROPE:
        yield from ("rope_short_factors", "rope_long_factors")
    if scaling not in (RopeScaling.YARN, RopeScaling.LONGROPE):
        yield "rope_attention_factor"


def _has_norm(config: ModelConfig) -> bool:
    return config.norm.norm_kind is not NormKind.NONE


def _is_parallel(config: ModelConfig) -> bool:
    return config.norm.norm_placement is NormPlacement.PARALLEL


def _norms_queries(config: ModelConfig) -> bool:
    return config.has_attention and not config.is_latent and config.attention.qk_norm


def _without_effect_in_norm(config: ModelConfig) -> Iterator[str]:
    """Queries, latents and what is read of a state may pass norms of their own."""
    norm, has_norm = config.norm, _has_norm(config)
    keeps_state = config.token_mixer is TokenMixer.GATED_DELTA and config.n_mixer_layers > 0
    if not (has_norm or _norms_queries(config) or config.is_latent or keeps_state):
        yield "norm_eps"
    scales = has_norm and norm.norm_affine
    if not scales and not (_norms_queries(config) and config.attention.qk_norm_scale):
        yield "norm_offset"
    if not scales or norm.norm_kind is NormKind.RMS_NORM:
        yield "norm_bias"
    if not has_norm:
        yield from ("norm_affine", "embedding_norm")
        if config.attention_only or config.architecture is Architecture.ENCODER_DECODER:
            yield "norm_placement"  # nothing is there to be parallel
    if not has_norm or not _is_parallel(config):
        yield "parallel_norms"
    is_one = config.architecture is not Architecture.ENCODER_DECODER
    if not (has_norm and is_one and norm.norm_placement is NormPlacement.PRE):
        yield "first_norm"


def _without_effect_in_feed_forward(config: ModelConfig) -> Iterator[str]:
    experts, is_narrow = config.experts, config.attention_only
    is_mixture = config.n_experts > 1 and not is_narrow
    if is_narrow:
        yield "n_experts"
    if is_narrow or (is_mixture and experts.d_expert and not config.n_dense_layers):
        yield "d_ff"
    if is_narrow and not config.has_prediction_head:
        yield from ("activation", "feed_forward_bias")
    if is_narrow or not config.feed_forward.activation.is_gated:
        yield from ("gate_limit", "up_offset")
    if not is_mixture:
        yield from vars(experts).keys() - {"n_experts"}
    else:
        if experts.n_expert_groups == 1:
            yield "n_active_groups"
        if not experts.n_shared_experts:
            yield "shared_expert_gate"
    is_softmax = experts.router_kind is RouterKind.SOFTMAX
    if is_mixture and is_softmax and experts.n_active_experts == config.n_experts:
        yield "normalize_top_k"  # all of them sum to 1
    is_two = config.architecture is Architecture.ENCODER_DECODER
    if config.n_layers == 1 or is_two:
        yield "n_dense_layers"
