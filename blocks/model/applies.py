"""What a configuration has: where an option does something, asked by the declarations of parts."""

import math
from functools import lru_cache
from typing import Any, NamedTuple

from blocks.model.kinds import (
    Architecture,
    NormKind,
    NormPlacement,
    PositionKind,
    RopeScaling,
    RouterKind,
    TokenMixer,
)


def of_tokens(config: Any) -> bool:
    """Whether token ids go in."""
    return config.architecture.reads_tokens


def of_two_stacks(config: Any) -> bool:
    """Whether it is an encoder–decoder."""
    return config.architecture is Architecture.ENCODER_DECODER


def of_encoder(config: Any) -> bool:
    """Whether it is an encoder."""
    return config.architecture is Architecture.ENCODER


def reads_both_ways(config: Any) -> bool:
    """Whether tokens of a text, or of a source, read those after them."""
    return of_encoder(config) or of_two_stacks(config)


def has_attention(config: Any) -> bool:
    """Whether a layer at least attends."""
    return config.has_attention


def has_heads(config: Any) -> bool:
    """Whether there are heads, of attention or of a state; a GRU has none."""
    return config.has_attention or config.token_mixer is not TokenMixer.GRU


def has_own_keys(config: Any) -> bool:
    """Whether keys are made of the stream, and not of latents."""
    return config.has_attention and not config.is_latent


def is_latent(config: Any) -> bool:
    """Whether keys and values are made of latents."""
    return config.is_latent


def norms_queries(config: Any) -> bool:
    """Whether queries and keys pass norms of their own."""
    return has_own_keys(config) and config.attention.qk_norm


def keeps_states(config: Any) -> bool:
    """Whether a layer has the state of a gated delta rule."""
    return config.token_mixer is TokenMixer.GATED_DELTA and config.n_mixer_layers > 0


def has_hidden(config: Any) -> bool:
    """Whether there is a hidden layer, of the feed-forward part or before the logits."""
    return not config.attention_only or config.has_prediction_head


def is_gated(config: Any) -> bool:
    """Whether the feed-forward layer has a gate."""
    return not config.attention_only and config.feed_forward.activation.is_gated


def is_mixture(config: Any) -> bool:
    """Whether there are several experts."""
    return config.n_experts > 1 and not config.attention_only


def has_dense(config: Any) -> bool:
    """Whether anything is as wide as d_ff: a dense layer, or experts without their own width."""
    has_own = is_mixture(config) and config.experts.d_expert and not config.n_dense_layers
    return not config.attention_only and not has_own


def leaves_experts_out(config: Any) -> bool:
    """Whether weights of the chosen may not sum to 1: those of all experts do by a softmax."""
    is_softmax = config.experts.router_kind is RouterKind.SOFTMAX
    chooses_all = config.experts.n_active_experts == config.n_experts
    return is_mixture(config) and not (is_softmax and chooses_all)


def has_norm(config: Any) -> bool:
    """Whether there are norms."""
    return config.norm.norm_kind is not NormKind.NONE


def is_parallel(config: Any) -> bool:
    """Whether both sub-layers read the stream at once."""
    return config.norm.norm_placement is NormPlacement.PARALLEL


def has_places(config: Any) -> bool:
    """Whether norms have a place, or two sub-layers may be parallel."""
    return has_norm(config) or not (config.attention_only or of_two_stacks(config))


def has_first_norm(config: Any) -> bool:
    """Whether the first attention may read the stream through a norm or as it is."""
    is_pre = config.norm.norm_placement is NormPlacement.PRE
    return has_norm(config) and is_pre and not of_two_stacks(config)


def norms_anything(config: Any) -> bool:
    """Whether there is a norm: queries, latents and what is read of a state may have their own."""
    return any(of(config) for of in (has_norm, norms_queries, is_latent, keeps_states))


def norms_scale(config: Any) -> bool:
    """Whether norms scale by what they learn."""
    return has_norm(config) and config.norm.norm_affine


def norms_outputs(config: Any) -> bool:
    """Whether what a sub-layer writes is normed, which undoes what multiplies it."""
    after = NormPlacement.SANDWICH, NormPlacement.RES_POST
    return has_norm(config) and config.norm.norm_placement in after


def has_rope(config: Any) -> bool:
    """Whether queries and keys may be turned."""
    return config.has_attention and config.position.position_kind is PositionKind.ROPE


class Turning(NamedTuple):
    """Which layers RoPE turns queries and keys in."""

    anywhere: bool = False
    in_windows: bool = False
    by_usual_base: bool = False


@lru_cache(maxsize=256)
def turning(config: Any) -> Turning:
    """Look at the layers of one period; those after them repeat these."""
    if not has_rope(config):
        return Turning()
    position = config.position
    n_layers = max(config.n_layers, config.n_decoder_layers)
    layers = config.attention_layers if config.is_hybrid else range(n_layers)
    period = math.lcm(max(1, position.nope_every), max(1, config.attention.global_every))
    turned = [layer for layer in layers[:period] if config.turns(layer)]
    n_local = sum(config.window_of(layer) > 0 for layer in turned)
    by_usual_base = len(turned) > (n_local if position.local_rope_base > 1 else 0)
    return Turning(bool(turned), n_local > 0, by_usual_base)


def turns_usually(config: Any) -> bool:
    """Whether a layer turns by the base that all have who have no other."""
    return turning(config).by_usual_base


def stretches(config: Any) -> bool:
    """Whether RoPE is stretched."""
    return turns_usually(config) and config.position.rope_scaling is not RopeScaling.NONE


def knows_trained_length(config: Any) -> bool:
    """Whether the length of the training texts decides how RoPE is stretched."""
    by_length = RopeScaling.YARN, RopeScaling.LLAMA3, RopeScaling.LONGROPE
    return stretches(config) and config.position.rope_scaling in by_length


def is_yarn(config: Any) -> bool:
    """Whether RoPE is stretched by YaRN."""
    return stretches(config) and config.position.rope_scaling is RopeScaling.YARN


def is_longrope(config: Any) -> bool:
    """Whether RoPE is stretched by LongRoPE."""
    return stretches(config) and config.position.rope_scaling is RopeScaling.LONGROPE
