"""What one change brings at the same price: as many tokens, as many FLOPs, as many seconds.

A change may be better at equal tokens and worse at equal seconds, since its updates cost more. Each
currency therefore has a training of its own, whose schedule ends where the budget is spent.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite, nan, sqrt
from statistics import fmean, stdev
from typing import Any

from blocks.sweep.estimate import PaceOf, update_flops
from blocks.sweep.point import Setting, changed
from blocks.sweep.sweep import Sweep
from blocks.training.spec import TrainingSpec

# Student's t at 97.5 %, by degrees of freedom from 1 (any table of the distribution).
T_975 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
T_LARGE = 1.96


class Currency(StrEnum):
    """What both may spend equally much of."""

    TOKENS = "tokens"
    FLOPS = "flops"
    SECONDS = "seconds"


class Answer(StrEnum):
    """What the interval says of the change."""

    BETTER = "better"
    WORSE = "worse"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Verdict:
    """The change against the base in one currency, over seeds that both were trained from.

    `differences`: held-out loss of the change minus that of the base, in nats, seed by seed; the
    interval of their mean holds it with 95 % (Student's t). `n_steps` of the base and the change.
    """

    currency: Currency
    n_steps: tuple[int, int]
    base: tuple[float, ...]
    change: tuple[float, ...]

    @property
    def differences(self) -> tuple[float, ...]:
        """Below 0 where the change is better."""
        return tuple(b - a for a, b in zip(self.base, self.change, strict=True))

    @property
    def mean(self) -> float:
        """Of the differences."""
        return fmean(self.differences)

    @property
    def half_width(self) -> float:
        """Of the interval; NaN for one seed, or where a training diverged."""
        n = len(self.differences)
        if n < 2 or not all(map(isfinite, self.differences)):
            return nan
        t = T_975[n - 2] if n - 2 < len(T_975) else T_LARGE
        return t * stdev(self.differences) / sqrt(n)

    @property
    def answer(self) -> Answer:
        """Better or worse where the interval holds no 0."""
        if self.mean + self.half_width < 0:
            return Answer.BETTER
        return Answer.WORSE if self.mean - self.half_width > 0 else Answer.UNDECIDED


@dataclass(frozen=True)
class Contest:
    """One sweep of a base and a change, and how many updates the change has in each currency."""

    sweep: Sweep
    n_steps: Mapping[Currency, int]

    def verdicts(self, losses: Mapping[str, float]) -> tuple[Verdict, ...]:
        """In each currency whose trainings are known from every seed; `losses` are by key."""
        of_steps: dict[int, list[float | None]] = {}
        base: list[float | None] = []
        for point in self.sweep.points({}):
            n = point.spec.recipe.n_steps
            of = of_steps.setdefault(n, []) if point.setting else base
            of.append(losses.get(point.key))
        return tuple(
            Verdict(
                currency,
                (self.sweep.base.recipe.n_steps, n),
                tuple(loss for loss in base if loss is not None),
                tuple(loss for loss in of_steps[n] if loss is not None),
            )
            for currency, n in self.n_steps.items()
            if None not in base and None not in of_steps[n]
        )


def contest(
    base: TrainingSpec, changes: Mapping[str, Any], seeds: tuple[int, ...], pace_of: PaceOf
) -> Contest:
    """What the base spends is the budget; the change has as many updates as that pays for.

    A second is one of this machine: some updates of both are timed; where that cannot be, seconds
    are left out. Raises `ConfigError` where the changed training cannot be.
    """
    change = changed(base, changes)
    steps = {Currency.TOKENS: tokens(base) / tokens(change)}
    steps[Currency.FLOPS] = update_flops(base) / update_flops(change)
    n_steps = {each: max(1, round(base.recipe.n_steps * ratio)) for each, ratio in steps.items()}
    if (slow := pace_of(base)) and (fast := pace_of(change)):
        n_steps[Currency.SECONDS] = fast.n_steps(change.recipe, slow.seconds(base.recipe))
    settings = (_setting(change, changes, n) for n in sorted({*n_steps.values()}))
    return Contest(Sweep(base=base, settings=((), *settings), seeds=seeds), n_steps)


def between(base: TrainingSpec, other: TrainingSpec) -> dict[str, Any]:
    """The fields that `other` has changed of the model and the recipe; its task is that of both."""
    flat, wanted = (spec.config.flat() | spec.recipe.flat() for spec in (base, other))
    return {name: value for name, value in wanted.items() if value != flat[name]}


def tokens(spec: TrainingSpec) -> int:
    """Of an update."""
    return spec.recipe.batch_size * spec.task.seq_len


def _setting(change: TrainingSpec, changes: Mapping[str, Any], n_steps: int) -> Setting:
    """The changes, so many updates, and a warm-up that they have room for."""
    recipe, mended = change.recipe.nearest(n_steps=n_steps)
    values = {**changes, "n_steps": n_steps}
    if mended:
        values["warmup_steps"] = recipe.warmup_steps
    return tuple(values.items())
