"""What the finished trainings of a sweep say: which setting is best, and whether seeds agree."""

from dataclasses import dataclass
from itertools import groupby
from math import isfinite
from statistics import fmean

from blocks.sweep.point import Point, Setting
from blocks.sweep.sweeps import View

Curve = tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Tried:
    """One setting: the last held-out losses of its seeds, in nats, and the curve of each seed.

    A loss is infinite where the training diverged. A curve is of step and held-out loss; also of a
    training that still goes on.
    """

    setting: Setting
    n_steps: int
    losses: tuple[float, ...]
    curves: tuple[Curve, ...]
    n_parameters: int
    flops: int
    seconds: float

    @property
    def mean(self) -> float:
        """Over the seeds."""
        return fmean(self.losses)

    @property
    def least(self) -> float:
        """Of the best seed."""
        return min(self.losses)

    @property
    def most(self) -> float:
        """Of the worst seed."""
        return max(self.losses)


@dataclass(frozen=True)
class SweepFacts:
    """All settings that have begun, in the order of the sweep; `whole` are those of all steps.

    `n_found` of `n_planned` trainings are finished, in `device_hours` of updates and looks, each on
    one core or one accelerator.
    """

    tried: tuple[Tried, ...]
    fields: tuple[str, ...]
    n_seeds: int
    n_steps: int
    n_found: int
    n_planned: int
    device_hours: float

    @property
    def whole(self) -> tuple[Tried, ...]:
        """Trained for all steps and from all seeds, the best first."""
        found = (
            each
            for each in self.tried
            if each.losses and len(each.losses) == self.n_seeds and self._is_whole(each)
        )
        return tuple(sorted(found, key=lambda each: each.mean))

    @property
    def is_clear(self) -> bool:
        """Whether every seed of the best is below every seed of the next."""
        best, other, *_more = self.whole
        return best.most < other.least

    @property
    def is_at_end(self) -> bool:
        """Whether the best value of the first field is the first or last of those that were tried.

        A better one may then lie beyond.
        """
        if not self.fields:
            return False
        values = [*dict.fromkeys(dict(each.setting)[self.fields[0]] for each in self.whole)]
        numbers = [value for value in values if isinstance(value, int | float)]
        best = dict(self.whole[0].setting)[self.fields[0]]
        is_number = len(numbers) == len(values) > 1 and type(best) is not bool
        return is_number and best in (min(numbers), max(numbers))

    @property
    def has_losses(self) -> bool:
        """Whether one at least came to a loss that can be drawn."""
        return any(each.losses and isfinite(each.mean) for each in self.tried)

    @property
    def can_be_ranked(self) -> bool:
        """Whether two settings at least came to an end that is a number."""
        return len(self.whole) > 1 and isfinite(self.whole[0].mean)

    def cost(self, price: float) -> float:
        """Of what is finished, at a price of a device-hour."""
        return self.device_hours * price

    def of_each(self, whole: float) -> float:
        """The share of one finished training."""
        return whole / self.n_found

    def _is_whole(self, each: Tried) -> bool:
        return "n_steps" in self.fields or each.n_steps == self.n_steps


def sweep_facts(view: View) -> SweepFacts:
    """Of a sweep as it is now."""
    of_settings = groupby(view.points, key=lambda p: (p.setting, p.spec.recipe.n_steps))
    tried = (_tried(view, [*points]) for _key, points in of_settings)
    return SweepFacts(
        tried=tuple(each for each in tried if each.curves),
        fields=tuple(name for name, _values in view.sweep.fields),
        n_seeds=len(view.sweep.seeds),
        n_steps=view.sweep.base.recipe.n_steps,
        n_found=len(view.found),
        n_planned=view.n_planned,
        device_hours=sum(each.seconds for each in view.found.values()) / 3600,
    )


def _tried(view: View, points: list[Point]) -> Tried:
    found = [view.found[p.key] for p in points if p.key in view.found]
    going = [tuple(view.live[p.key].looks) for p in points if p.key in view.live]
    curves = (*(tuple(look[:2] for look in each.looks) for each in found), *going)
    return Tried(
        setting=points[0].setting,
        n_steps=points[0].spec.recipe.n_steps,
        losses=tuple(each.held_out_loss for each in found),
        curves=tuple(each for each in curves if each),
        n_parameters=found[0].n_parameters if found else 0,
        flops=found[0].flops if found else 0,
        seconds=fmean(each.seconds for each in found) if found else 0.0,
    )
