"""A sweep as plain data: a training, what varies, and from how many seeds."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from math import prod
from typing import Any

from blocks.model.faults import N_, ConfigError, Fault
from blocks.sweep.halving import halved
from blocks.sweep.point import Point, Setting, changed
from blocks.training.bounds import coerce_fields
from blocks.training.spec import TrainingSpec

MOST_SETTINGS = 10_000


class Search(StrEnum):
    """Which of all combinations are trained."""

    GRID = "grid"
    RANDOM = "random"
    HALVING = "halving"


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Every value of each field with every value of the others, each from every seed.

    `settings` are values that belong together, in the place of one more field. `search`: all of
    them; `n_settings` of them, drawn with `draw_seed`; or all for a short time and one of `eta` for
    longer. Raises `ConfigError` where a combination cannot be trained.
    """

    base: TrainingSpec
    fields: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    settings: tuple[Setting, ...] = ()
    seeds: tuple[int, ...] = (0, 1, 2)
    search: Search = Search.GRID
    n_settings: int = 10
    draw_seed: int = 0
    eta: int = 3

    def __post_init__(self) -> None:
        coerce_fields(self, {"search": Search})
        object.__setattr__(self, "base", replace(self.base, seed=0))
        if faults := [*self._faults()]:
            raise ConfigError(faults)

    @property
    def n_combinations(self) -> int:
        """How many settings the grid has, seeds aside."""
        return prod(len(values) for _name, values in self.fields) * max(1, len(self.settings))

    @cached_property
    def specs(self) -> dict[Setting, TrainingSpec]:
        """The training of each setting that is tried, from the seed of the base."""
        return {each: changed(self.base, dict(each)) for each in self._chosen()}

    def points(self, losses: Mapping[str, float]) -> tuple[Point, ...]:
        """All trainings that are wanted, given the held-out losses known so far, by key.

        A loss is infinite where a training failed. Only successive halving looks at them.
        """
        if self.search is Search.HALVING:
            return halved(self.specs, self.seeds, self.eta, losses)
        return tuple(
            Point(replace(spec, seed=seed), setting)
            for setting, spec in self.specs.items()
            for seed in self.seeds
        )

    def planned(self) -> tuple[Point, ...]:
        """As many trainings as it will have, as they are where all come to the same."""
        losses: dict[str, float] = {}
        while (points := self.points(losses)) and any(each.key not in losses for each in points):
            losses |= dict.fromkeys((each.key for each in points), 0.0)
        return points

    def _chosen(self) -> list[Setting]:
        if self.search is not Search.RANDOM:
            return [self._setting(i) for i in range(self.n_combinations)]
        n = min(self.n_settings, self.n_combinations)
        drawn = random.Random(self.draw_seed).sample(range(self.n_combinations), n)
        return [self._setting(i) for i in sorted(drawn)]

    def _setting(self, i: int) -> Setting:
        """The combination of this number: the last field varies fastest."""
        found: list[tuple[str, Any]] = []
        for name, values in reversed(self.fields):
            i, which = divmod(i, len(values))
            found.insert(0, (name, values[which]))
        return (*(self.settings[i] if self.settings else ()), *found)

    def _faults(self) -> list[Fault]:
        if self.search not in [*Search]:
            text = N_("{value} is not a search method: use grid, random or halving")
            return [Fault(text, {"value": self.search})]
        faults = [
            Fault(N_("The field {name} has no values: list at least one"), {"name": name})
            for name, values in self.fields
            if not values
        ]
        if not self.seeds:
            faults.append(Fault(N_("There are no seeds: list at least one")))
        names = [name for name, _values in (*self.fields, *(self.settings[:1] or ((),))[0])]
        if self.search is Search.HALVING and "n_steps" in names:
            text = N_(
                "Successive halving sets n_steps itself: remove it, or use grid search (grid)"
            )
            faults.append(Fault(text))
        if self.eta < 2:
            faults.append(Fault(N_("eta ({eta}) must be at least 2: use 3"), {"eta": self.eta}))
        n_tried = self.n_settings if self.search is Search.RANDOM else self.n_combinations
        if n_tried > MOST_SETTINGS:
            text = N_("{n} settings exceed the {most} that a sweep may have: use fewer values")
            faults.append(Fault(text, {"n": f"{n_tried:,}", "most": f"{MOST_SETTINGS:,}"}))
        return faults
