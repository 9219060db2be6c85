"""One small GPT with each positional encoding, trained on short texts and measured on longer ones.

Press et al. 2022, "Train Short, Test Long"; Kazemnejad et al. 2023, for no encoding at all. A
learned table has rows for the longer texts, too: those of positions that never came are as drawn.
"""

import dataclasses
import math
from collections.abc import Mapping

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from blocks.model.config import ModelConfig
from blocks.model.kinds import Architecture, Initialization, PositionKind
from blocks.model.randomness import generator
from blocks.model.shipped import shipped
from blocks.training.recipe import Recipe
from blocks.training.series import Losses, Series
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import TaskConfig, TaskKind, build_task

TRAINED_LEN, LONGEST, BAND = 32, 128, 8  # tokens
N_ROWS, N_UPDATES = 512, 500
TASK = TaskConfig(kind=TaskKind.TEXT, seq_len=TRAINED_LEN)
RECIPE = Recipe(
    n_steps=N_UPDATES,
    batch_size=32,
    learning_rate=2e-3,
    warmup_steps=50,
    n_eval_batches=8,
    eval_every=N_UPDATES,
)


def models() -> Mapping[str, ModelConfig]:
    """The same model with each kind of positional encoding."""
    base = ModelConfig.from_flat(
        {
            "architecture": Architecture.GPT,
            "n_layers": 2,
            "d_model": 64,
            "n_heads": 4,
            "vocab_size": build_task(TASK).vocab_size,
            "max_seq_len": LONGEST,
            "dropout": 0.0,
            "initialization": Initialization.PYTORCH,
        }
    )
    return {str(kind): base.replace(position_kind=kind) for kind in PositionKind}


def bits_by_band(model: nn.Module, spec: TrainingSpec) -> Losses:
    """Bits per token in bands of positions, over the same held-out rows for every model."""
    task = build_task(dataclasses.replace(spec.task, seq_len=LONGEST))
    rows = task.held_out(N_ROWS, generator(0, "lengths"))
    with torch.no_grad():
        nats = cross_entropy(model(*rows.read).mT, rows.targets, reduction="none")
    return tuple((nats.mean(0).view(-1, BAND).mean(1) / math.log(2)).tolist())


SERIES = Series(
    file=shipped("runs", "lengths.json"),
    configs=models,
    task=TASK,
    recipe=RECIPE,
    seeds=(0, 1),
    measure=bits_by_band,
)
