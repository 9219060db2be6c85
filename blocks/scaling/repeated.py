"""Data repeated: what is a token worth that a model has learned from before?

As many tokens are seen in each training, of fewer and fewer unique ones. How much fresh text would
have brought the same loss is read off trainings that see no token twice. Muennighoff et al. 2023,
"Scaling Data-Constrained Language Models" (arXiv:2305.16264), equation 5, says how that goes on:
U tokens seen e times are worth U · (1 + R · (1 − exp(−(e − 1) / R))) fresh ones, with R = 15.4.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from blocks.model.randomness import generator
from blocks.scaling.plan import BATCH, SEQ_LEN, TASK, excess_of, gpt, recipe
from blocks.training.loop import Training
from blocks.training.markov import MarkovTask
from blocks.training.spec import TrainingSpec
from blocks.training.task import Batch

D_MODEL, N_UPDATES = 32, 768
EPOCHS = (1, 2, 4, 8, 16, 32)
MUENNIGHOFF = 15.3878  # R*_D, of their table of fitted constants


class Learned(NamedTuple):
    """A training: how often each of its tokens came, how many unique ones, nats above the least."""

    epochs: int
    unique: int
    excess: float


@dataclass(frozen=True, eq=False)
class Repeated(MarkovTask):
    """The same rows again and again, in a new order each time; what is held out stays fresh."""

    batches: Iterator[Tensor]

    def batch(self, batch_size: int, random: torch.Generator) -> Batch:
        """The next rows of this epoch."""
        rows = next(self.batches)
        return Batch(rows[:, :-1], rows[:, 1:])


def in_epochs(rows: Tensor, batch_size: int, seed: int) -> Iterator[Tensor]:
    """Batches without end: each row once, then each once more in another order, and so on."""
    random = generator(seed, "epochs")
    while True:
        for part in torch.randperm(len(rows), generator=random).split(batch_size):
            yield rows[part]


@dataclass(frozen=True)
class RepeatedData:
    """All tokens seen equally many times, more and more often; then the unique ones alone, once."""

    seed: int = 0

    device: ClassVar[str] = "cpu"
    is_timed: ClassVar[bool] = False

    @property
    def asked(self) -> tuple[tuple[int, int], ...]:
        """Epochs and unique updates of each training."""
        again = [(epochs, N_UPDATES // epochs) for epochs in EPOCHS]
        return (*again, *((1, updates) for _epochs, updates in again[1:]))

    @property
    def n_steps(self) -> int:
        """How many trainings there are."""
        return len(self.asked)

    @property
    def costs(self) -> list[float]:
        """How long each takes in proportion."""
        return [float(epochs * updates) for epochs, updates in self.asked]

    def results(self, done: Sequence[Learned]) -> Iterator[Learned]:
        """Those after the first ones."""
        for epochs, updates in self.asked[len(done) :]:
            yield learned(epochs, updates, self.seed)


def learned(epochs: int, updates: int, seed: int) -> Learned:
    """Train on the rows of so many updates, so often."""
    spec = TrainingSpec(config=gpt(D_MODEL), task=TASK, recipe=recipe(epochs * updates), seed=seed)
    training = Training(spec)
    rows = MarkovTask(SEQ_LEN).source.draw(updates * BATCH, SEQ_LEN + 1, generator(seed, "unique"))
    training.task = Repeated(SEQ_LEN, in_epochs(rows, BATCH, seed))
    return Learned(epochs, updates * BATCH * SEQ_LEN, excess_of(training))


def worth(found: Sequence[Learned]) -> dict[int, float]:
    """For each number of epochs, how many times its unique tokens they are worth: 1 is once.

    The fresh tokens that bring the same loss are interpolated, in powers of both.
    """
    fresh = sorted((each for each in found if each.epochs == 1), key=lambda each: each.unique)
    losses = np.minimum.accumulate([each.excess for each in fresh])
    tokens = np.log([each.unique for each in fresh])
    return {
        each.epochs: float(
            np.exp(np.interp(-np.log(each.excess), -np.log(losses), tokens)) / each.unique
        )
        for each in found
        if each.epochs > 1
    }


def expected_worth(epochs: float, decay: float = MUENNIGHOFF) -> float:
    """The same by the formula: at first each epoch counts in full, in the end `decay` more do."""
    return float(1 + decay * (1 - np.exp(-(epochs - 1) / decay)))
