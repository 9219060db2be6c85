"""What the model of a run was trained on: how long its texts were, and more of them."""

import dataclasses
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from blocks.inspection.beyond_length import FACTORS
from blocks.inspection.other_positions import random_values
from blocks.model.kinds import PositionKind
from blocks.model.randomness import generator
from blocks.observe.run import Run
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import Task, TaskConfig
from pages.server import cached, starts
from pages.state.values import State

if TYPE_CHECKING:
    from torch import Tensor

RANDOM_LENGTH = 32


def spec(run: Run) -> TrainingSpec | None:
    """How the weights of this run were trained; None where no card says so that holds."""
    if not starts.has_task(run.weights):
        return None
    card = starts.model(run.weights).card
    return TrainingSpec.from_plain(card.recipe) if card else None


def length(run: Run, state: State) -> int:
    """The length that counts as trained: the reader's, or else that of the training."""
    return state.trained_len or own_length(run)


def own_length(run: Run) -> int:
    """The length of the training, or one to look at where none is known."""
    found = spec(run)
    return found.task.seq_len if found else RANDOM_LENGTH


def length_of_file(run: Run) -> int | None:
    """The longest text that a file names for weights whose training is not known here."""
    return run.config.max_seq_len if run.weights and spec(run) is None else None


def task_of(run: Run, n: int) -> Task | None:
    """The task of a trained run with rows of `n` tokens; None where random, or no rows so long."""
    found = spec(run)
    if found is None:
        return None
    least, most = found.task.kind.seq_len_bounds
    return _task(found.task, n) if least <= n <= most else None


@lru_cache(maxsize=4)
def _task(task: TaskConfig, n: int) -> Task:
    return starts.build_task_once(dataclasses.replace(task, seq_len=n))


def texts(run: Run, n_texts: int, n: int) -> "Tensor":
    """Held-out rows of what the model was trained on where they are long enough, else random."""
    task = task_of(run, n)
    if task is None:
        return random_values(cached.model(run), run.config, n_texts, n, run.seed)
    rows = task.held_out(n_texts, generator(run.seed, "beyond length"))
    return cast("Tensor", rows.token_ids).to(run.device)  # pairs are not read on this page


def longest_measured(run: Run, trained_len: int) -> int:
    """How many positions the loss can be measured on: a table ends, and so do a task's rows."""
    found, n = spec(run), FACTORS[-1] * trained_len
    if run.config.position.position_kind is PositionKind.LEARNED:
        n = min(n, run.config.max_seq_len)
    return min(n, found.task.kind.seq_len_bounds[1]) if found else 0
