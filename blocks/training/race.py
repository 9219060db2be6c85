"""One stack with its norm in different places, trained on one task: which of them learns?

Everything else is the same: weights by name from one seed, batches, learning rate, warm-up.
Xiong et al. 2020, section 4: post-norm needs a warm-up, pre-norm does not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import pandas as pd

from blocks.model.config import ModelConfig
from blocks.model.kinds import Architecture, Initialization, PositionKind
from blocks.model.placements import placed
from blocks.training.recipe import OptimizerKind, Recipe, ScheduleKind
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import TaskConfig, TaskKind, build_task

N_UPDATES, N_LETTERS = 100, 8
GUESS = log(26)
"""The loss of a model that says every letter is as likely as any other, in nats."""
TASK = TaskConfig(kind=TaskKind.SORT, seq_len=2 * N_LETTERS, architecture=Architecture.GPT)
RECIPE = Recipe(
    n_steps=N_UPDATES,
    batch_size=32,
    optimizer=OptimizerKind.ADAMW,
    beta2=0.98,
    weight_decay=0.0,
    schedule=ScheduleKind.CONSTANT,
    clip_norm=0.0,
    n_eval_batches=1,
    eval_every=N_UPDATES,
)
SMOOTH = 10  # updates that a curve is the mean of
STUCK = 0.85 * GUESS
SHALLOW, DEEP = 4, 12
SIZES = {
    "architecture": Architecture.GPT,
    "d_model": 64,
    "n_heads": 4,
    "n_kv_heads": None,
    "d_ff": None,
    "n_experts": 1,
    "dropout": 0.0,
    "position_kind": PositionKind.LEARNED,
    "max_seq_len": TASK.seq_len,
    "initialization": Initialization.XAVIER_UNIFORM,
}


def race_spec(
    config: ModelConfig,
    placement: str,
    *,
    n_layers: int,
    learning_rate: float,
    warmup_steps: int,
    seed: int,
    device: str = "cpu",
) -> TrainingSpec:
    """A narrow stack of this configuration's layers, and how it is trained to sort letters."""
    vocab_size = build_task(TASK).vocab_size
    narrow = config.replace(**SIZES, vocab_size=vocab_size, n_layers=n_layers)
    recipe = RECIPE.replace(learning_rate=learning_rate, warmup_steps=warmup_steps)
    return TrainingSpec(
        config=placed(narrow, placement), task=TASK, recipe=recipe, seed=seed, device=device
    )


@dataclass(frozen=True, eq=False)
class RaceFacts:
    """How far each placement has learned after equally many updates.

    `spec`: of the first of them; `curves`: placement, update (from 1), and loss in nats, as the
    mean of the last few; `losses`: the last of each; `diverged`: those whose loss is not finite.
    `without_warmup`: the losses of the same runs without their warm-up, where these are known.
    """

    spec: TrainingSpec
    n_updates: int
    n_planned: int
    curves: pd.DataFrame
    losses: tuple[tuple[str, float], ...]
    diverged: tuple[str, ...]
    without_warmup: tuple[tuple[str, float], ...] = ()

    @property
    def is_over(self) -> bool:
        """Whether all updates are made."""
        return self.n_updates >= self.n_planned

    @property
    def stuck(self) -> tuple[str, ...]:
        """The names of the runs that are hardly better than guessing."""
        return tuple(name for name, loss in self.losses if not loss < STUCK)


def race_facts(
    names: Sequence[str], losses: Sequence[Sequence[float]], spec: TrainingSpec, n_updates: int
) -> RaceFacts:
    """What the losses of each placement, update by update, show after `n_updates`."""
    table = pd.concat(
        pd.DataFrame({"placement": name, "update": range(1, len(found) + 1), "loss": found})
        for name, found in zip(names, losses, strict=True)
    )
    mean = table.groupby("placement", sort=False)["loss"].rolling(SMOOTH, min_periods=1).mean()
    table = table.assign(loss=mean.to_numpy()).reset_index(drop=True)
    last = table.drop_duplicates("placement", keep="last")
    diverged = (n for n, found in zip(names, losses, strict=True) if len(found) < n_updates)
    ends = tuple(zip(last["placement"], last["loss"], strict=True))
    return RaceFacts(spec, n_updates, N_UPDATES, table, ends, tuple(diverged))
