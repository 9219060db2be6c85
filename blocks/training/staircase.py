"""From a table of pairs to a small GPT in seven steps, each trained small from seeds.

The order of Karpathy 2023, "Let's build GPT": a bigram, one head of attention, several heads, a
feed-forward layer, residual connections, norms, and more of all.
"""

from collections.abc import Mapping
from typing import Any

from blocks.model.config import ModelConfig
from blocks.model.kinds import Architecture, Initialization, NormKind, PositionKind
from blocks.model.shipped import shipped
from blocks.training.recipe import Recipe
from blocks.training.series import Series
from blocks.training.tasks import TaskConfig, TaskKind, build_task

SEQ_LEN, N_UPDATES = 64, 1000
TASK = TaskConfig(kind=TaskKind.TEXT, seq_len=SEQ_LEN)
RECIPE = Recipe(
    n_steps=N_UPDATES,
    batch_size=16,
    learning_rate=3e-3,
    warmup_steps=50,
    n_eval_batches=20,
    eval_every=N_UPDATES,
)
# A bigram is a layer whose tokens read themselves alone: the next one depends on nothing else.
BIGRAM: dict[str, Any] = {
    "architecture": Architecture.GPT,
    "n_layers": 1,
    "d_model": 64,
    "n_heads": 1,
    "attention_only": True,
    "residual": False,
    "norm_kind": NormKind.NONE,
    "position_kind": PositionKind.NONE,
    "local_window": 1,
    "max_seq_len": SEQ_LEN,
    "dropout": 0.0,
    "initialization": Initialization.PYTORCH,
}
STEPS: dict[str, dict[str, Any]] = {
    "bigram": {},
    "one_head": {"local_window": 0, "position_kind": PositionKind.LEARNED},
    "many_heads": {"n_heads": 4},
    "feed_forward": {"attention_only": False},
    "residual": {"residual": True},
    "norm": {"norm_kind": NormKind.LAYER_NORM},
    "larger": {"n_layers": 2, "d_model": 128},
}


def stairs() -> Mapping[str, ModelConfig]:
    """The model after each step: every one keeps what came before."""
    found, config = {}, ModelConfig.from_flat({**BIGRAM, "vocab_size": build_task(TASK).vocab_size})
    for name, changes in STEPS.items():
        found[name] = config = config.replace(**changes)
    return found


SERIES = Series(
    file=shipped("runs", "staircase.json"), configs=stairs, task=TASK, recipe=RECIPE, seeds=(0, 1)
)
