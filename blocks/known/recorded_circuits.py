"""Circuits that were trained beforehand, to be seen at once, and their control.

    python -m blocks.known.recorded_circuits

trains them anew: some minutes on a core.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import torch

from blocks.known.sparse import Circuit, SparseTraining, Weight
from blocks.known.stacked import trained_together
from blocks.model.shipped import rows_in, shipped, write_rows

FILE = shipped("runs", "circuits.json")
SEEDS = range(5)
CONTROL_SEEDS = range(3)
LEAST_RATIO = 5
N_TEXTS = 8, 16, 32  # of the control: so few that they can be learned by heart
SHARES = 0.02, 0.1, 0.15, 0.3  # of the weights, one tried after the other
N_CONTROL_UPDATES = 4000  # twice as many: learning by heart takes longer than finding a rule


class Rung(NamedTuple):
    """A model of the control: its weights after training and pruning, and what it gets right.

    `accuracy` is that on the texts that were learned, `held_out` that on others.
    """

    seed: int
    n_texts: int
    is_shuffled: bool
    n_trained: int
    n_kept: int
    accuracy: float
    held_out: float


class Recorded(NamedTuple):
    """The circuit of each seed, and what it takes to learn few texts with a rule and without."""

    circuits: Mapping[int, Circuit]
    control: tuple[Rung, ...]

    def learned(self, n_texts: int, *, is_shuffled: bool) -> list[Rung]:
        """Of each seed the model with the fewest weights that learned all answers."""
        return [
            each
            for each in self.control
            if (each.n_texts, each.is_shuffled, each.accuracy) == (n_texts, is_shuffled, 1)
        ]

    @property
    def n_seeds(self) -> int:
        """How many trainings of each kind there are."""
        return len({each.seed for each in self.control})

    @property
    def ratios(self) -> list[float]:
        """How many times as many weights shuffled answers take, of the seeds that learned both.

        Of the most texts: the fewer there are, the less a rule saves.
        """
        true, shuffled = (self.learned(N_TEXTS[-1], is_shuffled=each) for each in (False, True))
        few = {each.seed: each.n_kept for each in true}
        return [each.n_kept / few[each.seed] for each in shuffled if each.seed in few]

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


def rung(training: SparseTraining, found: Circuit) -> Rung:
    """What is left of one model, and what it can do."""
    return Rung(
        seed=training.seed,
        n_texts=training.n_texts,
        is_shuffled=training.is_shuffled,
        n_trained=len(found.trained),
        n_kept=len(found.kept),
        accuracy=found.accuracy,
        held_out=found.held_out,
    )


def control_of(seed: int, n_texts: int, *, is_shuffled: bool, share: float) -> SparseTraining:
    """A training of few texts, which all stand in each batch."""
    return SparseTraining(
        seed=seed,
        is_shuffled=is_shuffled,
        share=share,
        n_updates=N_CONTROL_UPDATES,
        n_texts=n_texts,
    )


def climbed(seeds: Sequence[int], n_texts: int) -> Iterator[Rung]:
    """Models of ever more weights, of each seed and kind up to the first that learns all."""
    left = [*product(seeds, (False, True))]
    for share in SHARES:
        tried = [control_of(seed, n_texts, is_shuffled=kind, share=share) for seed, kind in left]
        models = trained_together(tried) if tried else ()
        found = [rung(each, each.pruned(model)) for each, model in zip(tried, models, strict=True)]
        yield from found
        left = [(each.seed, each.is_shuffled) for each in found if each.accuracy < 1]


def record_circuits() -> None:
    """Train and prune the circuit of each seed, and keep them."""
    found = [[*SparseTraining(seed=seed).results(())][-1] for seed in SEEDS]
    write_rows(FILE, {**rows_in(FILE), "circuits": [*map(dataclasses.asdict, found)]})


def record_control() -> None:
    """Train and prune the models of the control, and keep what is left of them."""
    found = [each for n_texts in N_TEXTS for each in climbed(CONTROL_SEEDS, n_texts)]
    write_rows(FILE, {**rows_in(FILE), "control": found})


if __name__ == "__main__":
    torch.set_num_threads(1)
    record_circuits()
    record_control()
