"""How long a training will take on its device: a few of its own updates, timed."""

import dataclasses
import time
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from blocks.cost.parameters import total_parameters
from blocks.training.events import Step
from blocks.training.loop import Training
from blocks.training.recipe import Recipe
from blocks.training.spec import TrainingSpec

N_TIMED = 4
MOST_WORK = 2e10
"""FLOPs of an update that is timed: beyond, it is timed with fewer rows."""


class Pace(NamedTuple):
    """Seconds of one update, and of one look at how far it is: loss, score and sample."""

    update: float
    look: float

    def seconds(self, recipe: Recipe) -> float:
        """What all updates and looks of a recipe take at this pace."""
        n_looks = 1 + -(-recipe.n_steps // recipe.steps_between_evaluations)
        return self.update * recipe.n_steps + self.look * n_looks

    def n_steps(self, recipe: Recipe, seconds: float) -> int:
        """Updates for which there is time."""
        share = self.look / recipe.steps_between_evaluations
        return max(1, int((seconds - self.look) / (self.update + share)))


def measured_pace(spec: TrainingSpec) -> Pace:
    """Train for a moment and throw it away. Raises `ConfigError` where it cannot be trained.

    The first update pays for what is made once; the middle of the others counts. A look comes
    before the first update.
    """
    rows = _rows(spec)
    recipe = spec.recipe.replace(batch_size=rows)
    training = Training(dataclasses.replace(spec, recipe=recipe))
    told = [time.perf_counter()]
    for event in training.events():
        if isinstance(event, Step):
            told.append(time.perf_counter())
        if len(told) > N_TIMED:
            break
    seconds = [after - before for before, after in pairwise(told)]
    if not seconds:
        return Pace(0.0, 0.0)
    update = median(seconds[1:] or seconds)
    grown = spec.recipe.batch_size / rows
    return Pace(update * grown, max(0.0, seconds[0] - update) * grown)


def _rows(spec: TrainingSpec) -> int:
    """As many rows as are quick: forward and back are 6 FLOPs a parameter and token."""
    of_a_row = 6 * total_parameters(spec.config) * spec.task.seq_len
    return max(1, min(spec.recipe.batch_size, int(MOST_WORK / of_a_row)))
