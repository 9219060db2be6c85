"""How long a training will take on its device: a few of its own updates, timed."""

import dataclasses
import time
from itertools import pairwise
from typing import NamedTuple

from blocks.cost.parameters import total_parameters
from blocks.training.loop import Training
from blocks.training.recipe import Recipe
from blocks.training.spec import TrainingSpec

N_LEAST, N_TIMED, LONG_ENOUGH = 3, 6, 0.5  # updates at least and at most; seconds for more
MOST_WORK = 2e10
"""FLOPs of an update that is timed: beyond, it is timed with fewer rows."""


class Pace(NamedTuple):
    """Seconds of one update."""

    update: float

    def seconds(self, recipe: Recipe) -> float:
        """What all updates and held-out losses of a recipe take; scores and samples come on top."""
        n_looks = 1 + -(-recipe.n_steps // recipe.steps_between_evaluations)
        return self.update * (recipe.n_steps + n_looks * recipe.updates_of_an_evaluation)

    def n_steps(self, recipe: Recipe, seconds: float) -> int:
        """Updates for which there is time."""
        share = recipe.updates_of_an_evaluation / recipe.steps_between_evaluations
        left = seconds / self.update - recipe.updates_of_an_evaluation
        return max(1, int(left / (1 + share)))


def measured_pace(spec: TrainingSpec) -> Pace:
    """Train for a moment and throw it away: the quickest update counts, for the first pays more.

    Raises `ConfigError` where it cannot be trained.
    """
    rows = _rows(spec)
    training = Training(dataclasses.replace(spec, recipe=spec.recipe.replace(batch_size=rows)))
    told = [time.perf_counter()]
    while len(told) <= N_LEAST or (len(told) <= N_TIMED and told[-1] - told[0] < LONG_ENOUGH):
        training.update()
        told.append(time.perf_counter())
    quickest = min(after - before for before, after in pairwise(told))
    return Pace(quickest * spec.recipe.batch_size / rows)


def _rows(spec: TrainingSpec) -> int:
    """As many rows as are quick: forward and back are 6 FLOPs a parameter and token."""
    of_a_row = 6 * total_parameters(spec.config) * spec.task.seq_len
    return max(1, min(spec.recipe.batch_size, int(MOST_WORK / of_a_row)))
