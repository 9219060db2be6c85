"""Circuits that were trained beforehand, to be seen at once, and their control.

    python -m blocks.known.recorded_circuits

trains them anew: some minutes on a core.
"""

import dataclasses
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

import torch

from blocks.known.sparse import N_PARTS, SHARES, Circuit, Part, SparseTraining, Weight
from blocks.model.shipped import rows_in, shipped, write_rows

FILE = shipped("runs", "circuits.json")
SEEDS = range(5)
LEAST_RATIO = 5


class Rung(NamedTuple):
    """How many answers a model with so many weights gets right, of those that it learned."""

    is_shuffled: bool
    n_weights: int
    accuracy: float


class Recorded(NamedTuple):
    """The circuit of each seed, and what models of other sizes learn."""

    circuits: Mapping[int, Circuit]
    control: tuple[Rung, ...]

    def fewest(self, *, is_shuffled: bool) -> int | None:
        """The fewest weights with which a model learns all answers; None where none does."""
        enough = [
            each.n_weights
            for each in self.control
            if each.is_shuffled == is_shuffled and each.accuracy == 1
        ]
        return min(enough, default=None)

    @property
    def few(self) -> int:
        """Weights with which the true answers are learned."""
        return self.fewest(is_shuffled=False) or self.n_weights

    @property
    def many(self) -> int | None:
        """Weights with which shuffled answers are learned; None where none are enough."""
        return self.fewest(is_shuffled=True)

    @property
    def n_weights(self) -> int:
        """All weights of the model."""
        return max(each.n_weights for each in self.control)

    @property
    def best(self) -> float:
        """The share of shuffled answers that is learned at best."""
        return max(each.accuracy for each in self.control if each.is_shuffled)

    @property
    def ratio(self) -> float:
        """How many times as many weights shuffled answers take, at least."""
        return (self.many or self.n_weights) / self.few

    @property
    def is_proof(self) -> bool:
        """Whether that is so many that the small circuit says something."""
        return self.ratio >= LEAST_RATIO


@lru_cache(maxsize=1)
def recorded() -> Recorded:
    """What ships."""
    found = rows_in(FILE)
    circuits = map(_read, found["circuits"])
    return Recorded(
        {each.seed: each for each in circuits}, tuple(Rung(*r) for r in found["control"])
    )


def _read(row: Mapping[str, Any]) -> Circuit:
    weights = {name: tuple(Weight(*each) for each in row[name]) for name in ("kept", "pruned")}
    return Circuit(**{**row, **weights})


def rung(training: SparseTraining) -> Rung:
    """What is learned with the weights that are left before pruning."""
    found = (each for each in training.results(()) if isinstance(each, Part))
    *_before, last = islice(found, N_PARTS)
    return Rung(training.is_shuffled, last.n_weights, last.accuracy)


def control(seed: int) -> tuple[Rung, ...]:
    """Models of all sizes, of the true answers and of shuffled ones."""
    return tuple(
        rung(SparseTraining(seed=seed, is_shuffled=is_shuffled, share=share))
        for is_shuffled in (False, True)
        for share in SHARES
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    found = [[*SparseTraining(seed=seed).results(())][-1] for seed in SEEDS]
    write_rows(
        FILE, {"circuits": [*map(dataclasses.asdict, found)], "control": [*map(tuple, control(0))]}
    )
