"""Batch size: how many steps and tokens does a loss take, and where is the critical batch?

McCandlish et al. 2018, "An Empirical Model of Large-Batch Training" (arXiv:1812.06162): with
batches of B the steps are S = S_min + E_min / B (equation 2.11), so that below B_crit = E_min /
S_min tokens are saved and above it steps. The noise scale of gradients foretells it, B_simple =
tr(Σ) / |G|² (equation 2.9), from gradients of two batch sizes (appendix A.1).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, inf, isfinite, log
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from blocks.model.randomness import generator
from blocks.scaling.plan import TASK, gpt, recipe
from blocks.training.loop import Training
from blocks.training.recipe import ScheduleKind
from blocks.training.spec import TrainingSpec

D_MODEL, TARGET = 16, 0.2  # nats above the entropy that are to be reached
SIZES = (8, 16, 32, 64, 128, 256, 512)  # texts a batch
RATES = tuple(2.0**-k for k in range(8, 3, -1))  # the first that is not slower than the next counts
MOST_UPDATES, FINER = 4000, 1.25  # of a training; from one look to the next
N_PARTS, PART = 32, 32  # batches whose gradients are compared, and texts of each


class Noise(NamedTuple):
    """The squared length of the true gradient, and the summed variance of that of one text."""

    signal: float
    noise: float

    @property
    def scale(self) -> float:
        """B_simple, in texts."""
        return self.noise / self.signal


class Reached(NamedTuple):
    """The fastest way to the loss with one batch size: updates (infinite: none), and its rate.

    `noise_scale`: B_simple, the mean over its updates.
    """

    batch_size: int
    updates: float
    rate: float
    noise_scale: float


def noise_of(gradients: Tensor, batch_size: int) -> Noise:
    """Without bias, from gradients of many batches: (batches, parameters).

    The batches together are the large one: E|G_B|² = |G|² + tr(Σ) / B for both sizes.
    """
    small, big = batch_size, batch_size * len(gradients)
    of_small = float(gradients.square().sum(1).mean())
    of_big = float(gradients.mean(0).square().sum())
    signal = (big * of_big - small * of_small) / (big - small)
    return Noise(signal, (of_small - of_big) / (1 / small - 1 / big))


@dataclass(frozen=True)
class BatchSizes:
    """For each batch size the fewest updates to one loss, the largest batches first."""

    seed: int = 0

    device: ClassVar[str] = "cpu"
    is_timed: ClassVar[bool] = False

    @property
    def n_steps(self) -> int:
        """How many sizes there are."""
        return len(SIZES)

    @property
    def costs(self) -> list[float]:
        """How long each takes in proportion: a size costs overhead per update, and its tokens."""
        return [(1 + 24 / size) * (16 + size) for size in SIZES]

    def results(self, done: Sequence[Reached]) -> Iterator[Reached]:
        """Those after the first ones."""
        for size in SIZES[len(done) :]:
            yield fastest(size, self.seed)


def fastest(batch_size: int, seed: int) -> Reached:
    """Raise the rate as long as that is faster."""
    best = updates_until(batch_size, RATES[0], MOST_UPDATES, seed)
    for rate in RATES[1:]:
        found = updates_until(batch_size, rate, min(best.updates, MOST_UPDATES), seed)
        if found.updates > best.updates:
            break
        best = found
    return best


def updates_until(batch_size: int, rate: float, most: float, seed: int) -> Reached:
    """Updates to the loss, between two looks in powers of both."""
    training = Training(_spec(batch_size, rate, seed))
    step, excess = 0, log(training.task.vocab_size)
    scales, weights = [], []
    while training.step < most and isfinite(excess):
        n = ceil((step + 1) * (FINER - 1))
        for _update in range(n):
            training.update()
        scales.append(noise_of(_gradients(training), PART).scale)
        weights.append(n)
        before, excess = excess, training.examiner.score(training.model)
        if excess <= TARGET:
            share = log(before / TARGET) / log(before / excess)
            mean = np.average(scales, weights=weights)
            return Reached(batch_size, step + share * n, rate, float(mean))
        step = training.step
    return Reached(batch_size, inf, rate, inf)


def _spec(batch_size: int, rate: float, seed: int) -> TrainingSpec:
    changed = recipe(MOST_UPDATES).replace(
        batch_size=batch_size, learning_rate=rate, schedule=ScheduleKind.CONSTANT, warmup_steps=0
    )
    return TrainingSpec(config=gpt(D_MODEL), task=TASK, recipe=changed, seed=seed)


class Fit(NamedTuple):
    """S = least_updates + least_texts / B through what was reached: (batch sizes, updates)."""

    least_updates: float
    least_texts: float

    @property
    def critical(self) -> float:
        """B_crit, in texts: there both are twice what they must be."""
        return self.least_texts / self.least_updates

    def updates(self, batch_size: float) -> float:
        """What it says."""
        return self.least_updates + self.least_texts / batch_size


def fit_of(found: Sequence[Reached]) -> Fit:
    """The least squares of relative errors."""
    rows = [(each.batch_size, each.updates) for each in found if isfinite(each.updates)]
    sizes, updates = np.array(rows).T
    terms = np.stack([1 / updates, 1 / sizes / updates], axis=1)
    constants, *_rest = np.linalg.lstsq(terms, np.ones(len(rows)))
    return Fit(*map(float, constants))


def _gradients(training: Training) -> Tensor:
    """Of fresh batches at the weights of now: (batches, parameters)."""
    random = generator(training.spec.seed, "noise", str(training.step))
    found = []
    for _part in range(N_PARTS):
        batch = training.task.batch(PART, random)
        loss = training.to_update.loss(training.model(*batch.read), batch)
        parts = torch.autograd.grad(loss, [*training.model.parameters()])
        found.append(torch.cat([part.flatten() for part in parts]))
    return torch.stack(found)
