"""Configurations drawn at random from all fields, of a size that runs in milliseconds.

A field that is new takes part once it has values here, and a test fails until it has.
"""

import os
import random
import typing
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from blocks import ModelConfig
from blocks.model.config import DEFAULTS, FIELDS
from blocks.model.kinds import Architecture, TokenMixer

N_SEEDS = int(os.environ.get("BLOCKSCOPE_SEEDS", "0"))
# Daily those of the first 200 whose models have the most settings between them, each once more for
# each kind of model: more than the first twenty have.
SEEDS = range(N_SEEDS) if N_SEEDS else (33, 53, 84, 108, 145, 151, 154, 157, 184, 189)
# Of the fields that are not switches and not one of a few words: the first is small and legal.
VALUES: dict[str, list[Any]] = {
    "n_layers": [2, 1, 3],
    "d_model": [32, 40],
    "attention_every": [0, 2, 1],
    "dropout": [0.0, 0.3],
    "n_heads": [4, 2],
    "n_kv_heads": [None, 1, 2],
    "d_head": [None, 8, 12],
    "local_window": [0, 2, 3],
    "global_every": [0, 2, 1, 3],
    "score_softcap": [0.0, 1.5],
    "d_kv_latent": [0, 6],
    "d_q_latent": [0, 5],
    "d_rotary": [None, 4, 6],
    "d_value": [None, 3],
    "n_state_heads": [None, 6],
    "n_key_heads": [None, 2, 1],
    "d_state": [None, 5],
    "d_ff": [20, None, 12],
    "gate_limit": [0.0, 0.2],
    "n_experts": [1, 4, 6],
    "n_active_experts": [2, 1, 3],
    "expert_capacity": [0.0, 0.75, 1.25],
    "d_expert": [None, 7],
    "n_shared_experts": [0, 2],
    "n_dense_layers": [0, 1, 2],
    "routed_scale": [1.0, 2.5],
    "n_expert_groups": [1, 2],
    "n_active_groups": [1, 2],
    "norm_eps": [1e-5, 0.3],
    "parallel_norms": [1, 2],
    "max_seq_len": [16, 12],
    "position_offset": [0, 2],
    "rope_base": [100.0, 10_000.0],
    "rotary_share": [1.0, 0.5],
    "rope_factor": [1.0, 4.0],
    "rope_trained_len": [4, 2048],
    "rope_short_factors": ["", "1.5,2", "1,1.2,1.5,2"],
    "rope_long_factors": ["", "2,4", "1,2,3,4"],
    "rope_attention_factor": [0.0, 1.3],
    "local_rope_base": [0.0, 50.0],
    "nope_every": [0, 2, 1],
    "vocab_size": [11, 13],
    "logit_softcap": [0.0, 2.0],
    "n_mtp_modules": [0, 1, 2],
    "embedding_multiplier": [1.0, 5.0],
    "attention_multiplier": [0.0, 0.3],
    "residual_multiplier": [1.0, 0.7],
    "logits_scaling": [1.0, 3.0],
    "n_segments": [0, 2],
    "n_decoder_layers": [None, 1, 3],
}
SMALL = {name: values[0] for name, values in VALUES.items()}


def small(config: ModelConfig) -> ModelConfig:
    """What tells a configuration from others, in few numbers; many differ in their sizes alone."""
    few = {"n_layers": 2, "n_decoder_layers": 2, "d_model": 32, "n_heads": 4, "d_ff": 24}
    few |= {"vocab_size": 40, "max_seq_len": 16, "n_experts": 4, "n_active_experts": 2}
    changes = {name: n for name, n in few.items() if (config.plain(name) or 0) > n}
    return config.nearest(**changes, dropout=0.0)[0]


def values_of(name: str) -> list[Any]:
    """What a field may be in a drawn configuration."""
    kind = FIELDS[name]
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return [*kind]
    is_switch = kind is bool or bool in typing.get_args(kind)
    own = [None] if type(None) in typing.get_args(kind) else []
    return [False, True, *own] if is_switch else VALUES[name]


def drawn(seed: int) -> ModelConfig:
    """A legal configuration: a few fields moved, or many, or all of them."""
    own = random.Random(seed)
    share = own.choice([0.2, 0.5, 0.8, 1.0])
    moved = {name: own.choice(values_of(name)) for name in FIELDS if own.random() < share}
    moved["architecture"] = own.choice([*Architecture])
    if moved.get("token_mixer", TokenMixer.ATTENTION) is not TokenMixer.ATTENTION:
        moved["architecture"] = own.choice([Architecture.BLOCK, Architecture.GPT, Architecture.GPT])
    return ModelConfig(**SMALL).nearest(**moved)[0]


def said(config: ModelConfig) -> str:
    """What a configuration has that others have not, to build it again by hand."""
    flat = config.flat()
    return str({name: value for name, value in flat.items() if value != DEFAULTS[name]})


def changed(config: ModelConfig, name: str) -> Iterator[ModelConfig]:
    """The same with each other value of a field, and what has to be mended for it."""
    for value in values_of(name):
        other = config.nearest(**{name: value})[0]
        if other != config and other.plain(name) == value:
            yield other
