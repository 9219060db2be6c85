"""What a configuration has: the questions by which `parts` declares where an option applies."""

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
from blocks.model.options import Where

TOKENS = Where(lambda c: c.architecture.reads_tokens)
ONE_GPT = Where(lambda c: c.architecture is Architecture.GPT)
ONE_ENCODER = Where(lambda c: c.architecture is Architecture.ENCODER)
TWO_STACKS = Where(lambda c: c.architecture is Architecture.ENCODER_DECODER)
BOTH_WAYS = ONE_ENCODER | TWO_STACKS  # tokens of a text, or of a source, read those after them
SEVERAL_LAYERS = Where(lambda c: c.n_layers > 1)

MIXER = Where(lambda c: c.token_mixer is not TokenMixer.ATTENTION)
ATTENTION = Where(lambda c: c.has_attention)
HEADS = ATTENTION | Where(lambda c: c.token_mixer is not TokenMixer.GRU)
STATES = Where(lambda c: c.token_mixer is TokenMixer.GATED_DELTA and c.n_mixer_layers > 0)
STATES_AS_WIDE_AS_HEADS = STATES & Where(lambda c: c.state.d_state is None)
HEAD_COUNT = (
    ATTENTION
    | (STATES & Where(lambda c: c.state.n_state_heads is None))
    | (STATES_AS_WIDE_AS_HEADS & Where(lambda c: c.attention.d_head is None))
)
LATENTS = Where(lambda c: c.is_latent)
LATENT_WIDTH = Where(lambda c: c.d_kv_latent > 0)
OWN_KEYS = ATTENTION & ~LATENTS
QUERY_NORMS = OWN_KEYS & Where(lambda c: c.attention.qk_norm)
QUERY_SCALES = QUERY_NORMS & Where(lambda c: c.attention.qk_norm_scale)
MULTIPLIED_SCORES = Where(lambda c: c.scales.attention_multiplier)
WINDOWS = Where(lambda c: c.local_window)
WINDOWS_AMONG_OTHERS = WINDOWS & Where(lambda c: c.attention.global_every > 1)

FEED_FORWARD = Where(lambda c: not c.attention_only)
HIDDEN = FEED_FORWARD | Where(lambda c: c.has_prediction_head)
GATE = FEED_FORWARD & Where(lambda c: c.feed_forward.activation.is_gated)
EXPERTS = FEED_FORWARD & Where(lambda c: c.n_experts > 1)
GROUPS = EXPERTS & Where(lambda c: c.experts.n_expert_groups > 1)
SHARED_EXPERTS = EXPERTS & Where(lambda c: c.experts.n_shared_experts)
NOTHING_DENSE = EXPERTS & Where(lambda c: c.experts.d_expert and not c.n_dense_layers)
ALL_ACTIVE = Where(lambda c: c.experts.n_active_experts == c.n_experts)
SOFTMAX = Where(lambda c: c.experts.router_kind is RouterKind.SOFTMAX)

NORMS = Where(lambda c: c.norm.norm_kind is not NormKind.NONE)
SCALES = NORMS & Where(lambda c: c.norm.norm_affine)
RMS_NORMS = Where(lambda c: c.norm.norm_kind is NormKind.RMS_NORM)
ANY_NORMS = NORMS | QUERY_NORMS | LATENTS | STATES  # what is read of a state has a norm of its own
PARALLEL = Where(lambda c: c.norm.norm_placement is NormPlacement.PARALLEL)
FIRST_NORM = NORMS & ~TWO_STACKS & Where(lambda c: c.norm.norm_placement is NormPlacement.PRE)
AFTER = NormPlacement.SANDWICH, NormPlacement.RES_POST
NORMED_OUTPUTS = NORMS & Where(lambda c: c.norm.norm_placement in AFTER)

WAVES = Where(lambda c: c.position.position_kind is PositionKind.SINUSOIDAL)
POSITION_TABLE = Where(lambda c: c.position.position_kind is PositionKind.LEARNED)
ADDED = Where(lambda c: c.position.position_kind.is_added)
ROPE = ATTENTION & Where(lambda c: c.position.position_kind is PositionKind.ROPE)


class _Turned(NamedTuple):
    """Which layers RoPE turns queries and keys in."""

    anywhere: bool = False
    in_windows: bool = False
    by_usual_base: bool = False


@lru_cache(maxsize=256)
def _turned(config: Any) -> _Turned:
    """Look at the layers of one period; those after them repeat these."""
    if not ROPE(config):
        return _Turned()
    position = config.position
    n_layers = max(config.n_layers, config.n_decoder_layers)
    layers = config.attention_layers if config.is_hybrid else range(n_layers)
    period = math.lcm(max(1, position.nope_every), max(1, config.attention.global_every))
    turned = [layer for layer in layers[:period] if config.turns(layer)]
    n_local = sum(config.window_of(layer) > 0 for layer in turned)
    by_usual_base = len(turned) > (n_local if position.local_rope_base > 1 else 0)
    return _Turned(bool(turned), n_local > 0, by_usual_base)


TURNED = Where(lambda c: _turned(c).anywhere)
TURNED_IN_WINDOWS = Where(lambda c: _turned(c).in_windows)
USUAL_BASE = Where(lambda c: _turned(c).by_usual_base)
STRETCH = USUAL_BASE & Where(lambda c: c.position.rope_scaling is not RopeScaling.NONE)
LLAMA3 = STRETCH & Where(lambda c: c.position.rope_scaling is RopeScaling.LLAMA3)
YARN = STRETCH & Where(lambda c: c.position.rope_scaling is RopeScaling.YARN)
LONGROPE = STRETCH & Where(lambda c: c.position.rope_scaling is RopeScaling.LONGROPE)
