"""How a model bears that its sub-layers go: alone, the least needed first, and at random."""

from collections.abc import Callable
from dataclasses import dataclass

from blocks.efficiency.compression import Calibrated
from blocks.efficiency.deletion import (
    N_ORDERS,
    Change,
    Changed,
    at_random,
    least_first,
    n_growing,
    singles,
)


@dataclass(frozen=True)
class DeletionFacts:
    """`alone` holds what was deleted or swapped by itself; lines have an entry for 0, 1, … out.

    `least_first` deletes by what each costs alone; `random` are drawn orders, seeds 0 and up.
    """

    original: Changed
    alone: tuple[Changed, ...]
    least_first: tuple[Changed, ...]
    random: tuple[tuple[Changed, ...], ...]
    score_name: str
    is_share: bool

    def quality(self, changed: Changed) -> float:
        """Score, or held-out loss in nats."""
        return changed.score if self.is_share else changed.held_out_loss

    @property
    def deleted(self) -> tuple[Changed, ...]:
        """The changes that delete one sub-layer each."""
        return tuple(each for each in self.alone if each.change.deleted)

    @property
    def swapped(self) -> tuple[Changed, ...]:
        """The changes that swap two layers each."""
        return tuple(each for each in self.alone if each.change.swapped)

    @property
    def least_needed(self) -> Changed:
        """The deletion that costs least."""
        return min(self.deleted, key=lambda each: each.held_out_loss)

    @property
    def most_needed(self) -> Changed:
        """The deletion that costs most."""
        return max(self.deleted, key=lambda each: each.held_out_loss)

    @property
    def random_means(self) -> tuple[float, ...]:
        """The mean over the orders, for each number deleted."""
        return tuple(sum(each) / len(each) for each in self.random_spreads)

    @property
    def random_spreads(self) -> tuple[tuple[float, ...], ...]:
        """All orders, for each number deleted."""
        columns = zip(*self.random, strict=True)
        return tuple(tuple(map(self.quality, column)) for column in columns)


def n_changes(model: Calibrated) -> int:
    """How many changes the facts are made of, counted with those that are the same."""
    return len(singles(model.model)) + (1 + N_ORDERS) * n_growing(model.model)


def change_at(model: Calibrated, i: int, measured: Callable[[Change], Changed]) -> Change:
    """The i-th of them; the order of the least needed is known once each was measured alone."""
    first = singles(model.model)
    if i < len(first):
        return first[i]
    n = n_growing(model.model)
    line, place = divmod(i - len(first), n)
    if line < N_ORDERS:
        return at_random(model.model, line)[place]
    return least_first(model.model, tuple(map(measured, first)))[place]


def deletion_facts(model: Calibrated, measured: Callable[[Change], Changed]) -> DeletionFacts:
    """Facts of what was measured; `measured` gives each."""
    original, *alone = map(measured, singles(model.model))
    random = tuple(
        (original, *map(measured, at_random(model.model, seed))) for seed in range(N_ORDERS)
    )
    order = least_first(model.model, tuple(alone))
    return DeletionFacts(
        original=original,
        alone=tuple(alone),
        least_first=(original, *map(measured, order)),
        random=random,
        score_name=model.score_name,
        is_share=model.is_share,
    )
