"""Circuits that were trained beforehand, to be seen at once, and their control.

    python -m blocks.known.recorded_circuits

trains them anew: some minutes on a core.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import torch

from blocks.known.sparse import Circuit, SparseTraining, Weight
from blocks.model.shipped import rows_in, shipped, write_rows

FILE = shipped("runs", "circuits.json")
SEEDS = range(5)
CONTROL_SEEDS = range(2)
LEAST_RATIO = 5
N_TEXTS = 32  # of the control: so few that they can be learned by heart
SHARES = 0.02, 0.05, 0.07, 0.1, 0.15, 0.3, 1.0  # of the weights, one tried after the other


class Rung(NamedTuple):
    """A model of the control: its weights after training and pruning, and what it gets right.

    `accuracy` is that on the texts that were learned, `held_out` that on others.
    """

    seed: int
    is_shuffled: bool
    n_trained: int
    n_kept: int
    accuracy: float
    held_out: float


class Recorded(NamedTuple):
    """The circuit of each seed, and what it takes to learn few texts with a rule and without."""

    circuits: Mapping[int, Circuit]
    control: tuple[Rung, ...]

    def learned(self, *, is_shuffled: bool) -> list[Rung]:
        """Of each seed the model with the fewest weights that learned all answers."""
        return [
            each for each in self.control if each.is_shuffled == is_shuffled and each.accuracy == 1
        ]

    @property
    def n_seeds(self) -> int:
        """How many trainings of each kind there are."""
        return len({each.seed for each in self.control})

    @property
    def ratios(self) -> list[float]:
        """How many times as many weights shuffled answers take, of the seeds that learned both."""
        few = {each.seed: each.n_kept for each in self.learned(is_shuffled=False)}
        many = self.learned(is_shuffled=True)
        return [each.n_kept / few[each.seed] for each in many if each.seed in few]

    @property
    def is_proof(self) -> bool:
        """Whether that is so many, with every seed, that the small circuit says something."""
        return len(self.ratios) == self.n_seeds and min(self.ratios) >= LEAST_RATIO


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
    """What is left of one model, and what it can do."""
    found = next(each for each in training.results(()) if isinstance(each, Circuit))
    return Rung(
        seed=found.seed,
        is_shuffled=found.is_shuffled,
        n_trained=len(found.trained),
        n_kept=len(found.kept),
        accuracy=found.accuracy,
        held_out=found.held_out,
    )


def control_of(seed: int, *, is_shuffled: bool, share: float) -> SparseTraining:
    """A training of few texts, which all stand in each batch."""
    return SparseTraining(seed=seed, is_shuffled=is_shuffled, share=share, n_texts=N_TEXTS)


def climbed(seed: int, *, is_shuffled: bool) -> Iterator[Rung]:
    """Models of ever more weights, up to the first that learns all answers."""
    for share in SHARES:
        found = rung(control_of(seed, is_shuffled=is_shuffled, share=share))
        yield found
        if found.accuracy == 1:
            return


def record_circuits() -> None:
    """Train and prune the circuit of each seed, and keep them."""
    found = [[*SparseTraining(seed=seed).results(())][-1] for seed in SEEDS]
    write_rows(FILE, {**rows_in(FILE), "circuits": [*map(dataclasses.asdict, found)]})


def record_control() -> None:
    """Train and prune the models of the control, and keep what is left of them."""
    found = [
        tuple(each)
        for seed in CONTROL_SEEDS
        for is_shuffled in (False, True)
        for each in climbed(seed, is_shuffled=is_shuffled)
    ]
    write_rows(FILE, {**rows_in(FILE), "control": found})


if __name__ == "__main__":
    torch.set_num_threads(1)
    record_circuits()
    record_control()
