"""From GPT-2 to a model of today, one idea at a time, each step trained small from seeds."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from blocks.corpora.stories import Language
from blocks.model.config import ModelConfig
from blocks.model.kinds import (
    Activation,
    Initialization,
    NormKind,
    PositionKind,
    RouterKind,
    TokenMixer,
)
from blocks.model.presets import PRESETS
from blocks.model.shipped import shipped
from blocks.training.recipe import Recipe
from blocks.training.series import Series
from blocks.training.tasks import TaskConfig, TaskKind, build_task

FILE = shipped("runs", "ideas.json")
SEEDS = (0, 1, 2)
SEQ_LEN, N_UPDATES = 64, 150
START, HYBRID_EVERY = "gpt2-small", 4
SMALL = {"n_layers": 2, "d_model": 72, "n_heads": 6, "max_seq_len": SEQ_LEN, "dropout": 0.0}
TASK = TaskConfig(kind=TaskKind.STORIES, seq_len=SEQ_LEN, language=Language.ENGLISH)
RECIPE = Recipe(
    n_steps=N_UPDATES,
    batch_size=16,
    learning_rate=3e-3,
    warmup_steps=15,
    n_eval_batches=8,
    eval_every=N_UPDATES,
)


def ideas(base: ModelConfig) -> dict[str, ModelConfig]:
    """The model after each idea, the base first: every step keeps what came before.

    Sizes follow those of the base: two thirds of d_ff for the gate (Shazeer 2020); a third of the
    heads with keys of their own; experts a quarter as wide, of which a token passes four, one of
    them shared, so that it meets as many units as in the dense layer; latents of 4 · d_head
    (DeepSeek-V2); a gated delta rule in three layers of four, or in one of two (Kimi Linear, whose
    fourth attends to latents); one MTP module (DeepSeek-V3).
    """
    gated = 2 * base.d_ff // 3
    steps: dict[str, dict[str, Any]] = {
        "gpt2": {},
        "rope": {"position_kind": PositionKind.ROPE},
        "rmsnorm": {"norm_kind": NormKind.RMS_NORM},
        "no_bias": {"attention_bias": False, "feed_forward_bias": False},
        "swiglu": {"activation": Activation.SWIGLU, "d_ff": gated},
        "gqa": {"n_kv_heads": base.n_heads // 3},
        "qk_norm": {"qk_norm": True, "qk_norm_scale": True},
        "experts": {
            "n_experts": 16,
            "n_active_experts": 3,
            "n_shared_experts": 1,
            "d_expert": gated // 4,
            "n_dense_layers": 1,
            "router_kind": RouterKind.SIGMOID,
        },
        "mla": {"d_kv_latent": 4 * base.d_head},
        "hybrid": {
            "token_mixer": TokenMixer.GATED_DELTA,
            "attention_every": min(HYBRID_EVERY, base.n_layers),
        },
        "mtp": {"n_mtp_modules": 1},
    }
    found, config = {}, base
    for name, changes in steps.items():
        found[name] = config = config.replace(**changes)
    return found


def published_ideas() -> dict[str, ModelConfig]:
    """The steps at the size of GPT-2 small."""
    return ideas(PRESETS[START])


def small_ideas() -> dict[str, ModelConfig]:
    """Return the steps at the size that is trained."""
    task = build_task(TASK)
    base = PRESETS[START].replace(
        **SMALL, vocab_size=task.vocab_size, initialization=Initialization.NORMAL
    )
    return ideas(base)


SERIES = Series(FILE, small_ideas, TASK, RECIPE, SEEDS)


@lru_cache(maxsize=1)
def learned_losses() -> Mapping[str, tuple[float, ...]]:
    """The held-out loss of each step from each seed, in nats per token, as it ships; read once."""
    return {name: tuple(loss for (loss,) in runs) for name, runs in SERIES.learned().items()}
