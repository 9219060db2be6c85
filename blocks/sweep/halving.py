"""Successive halving: many settings trained for a short time, the best of them for longer."""

from collections.abc import Mapping
from dataclasses import replace
from statistics import fmean

from blocks.sweep.point import Point, Setting
from blocks.training.spec import TrainingSpec


def rungs(
    settings: Mapping[Setting, TrainingSpec], seeds: tuple[int, ...], eta: int
) -> tuple[tuple[int, int], ...]:
    """How many settings each rung has and which part of the steps they are trained for, 1 / of it.

    A rung keeps one of `eta` settings and trains them `eta` times as long.
    """
    found, n = [], len(settings)
    while n > 1:
        found.append(n)
        n = max(1, n // eta)
    found.append(n)
    return tuple((n, eta ** (len(found) - 1 - i)) for i, n in enumerate(found))


def halved(
    settings: Mapping[Setting, TrainingSpec],
    seeds: tuple[int, ...],
    eta: int,
    losses: Mapping[str, float],
) -> tuple[Point, ...]:
    """All points up to the rung that is trained now; Jamieson and Talwalkar 2016, algorithm 1.

    Each rung trains anew, with a schedule of its own length: what is compared has been cooled down,
    and each point is a training that stands for itself. `losses` by key, infinite where it failed.
    """
    points: list[Point] = []
    left = [*settings]
    for n, part in rungs(settings, seeds, eta):
        of_rung = {each: _points(each, settings[each], seeds, part) for each in left[:n]}
        points += [point for each in of_rung.values() for point in each]
        if any(point.key not in losses for each in of_rung.values() for point in each):
            break
        left = sorted(of_rung, key=lambda each: fmean(losses[p.key] for p in of_rung[each]))
    return tuple(points)


def _points(
    setting: Setting, spec: TrainingSpec, seeds: tuple[int, ...], part: int
) -> tuple[Point, ...]:
    recipe, _mended = spec.recipe.nearest(n_steps=max(1, spec.recipe.n_steps // part))
    short = replace(spec, recipe=recipe)
    told = setting if part == 1 else (*setting, ("n_steps", recipe.n_steps))
    return tuple(Point(replace(short, seed=seed), told) for seed in seeds)
