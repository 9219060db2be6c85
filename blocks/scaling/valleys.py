"""IsoFLOP valleys: models of several sizes at equal cost, and the size at the bottom of each.

Hoffmann et al. 2022, approach 2: a parabola in log N through the losses of each budget, and a line
in log C through its lowest points.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from blocks.cost.loss_fit import Trained


class Valley(NamedTuple):
    """The parabola a · (ln N − ln size)² + loss through the runs of one budget, in FLOPs (6·N·D).

    `is_inside`: whether its bottom lies between the smallest and the largest of these runs.
    """

    flops: float
    curvature: float
    size: float
    loss: float
    is_inside: bool

    def at(self, n: float) -> float:
        """What the parabola says of a model of this size."""
        return float(self.curvature * np.log(n / self.size) ** 2 + self.loss)


class Line(NamedTuple):
    """The best size of a budget: scale · C^power."""

    scale: float
    power: float

    def size(self, flops: float) -> float:
        """Parameters of the best model."""
        return float(self.scale * flops**self.power)


def flops_of(run: Trained) -> float:
    """What a training takes, as scaling laws count it: 6·N·D."""
    return 6 * run.n * run.d


def by_budget(runs: Sequence[Trained]) -> dict[float, list[Trained]]:
    """Runs of nearly the same cost together, the cheapest first; their mean cost is the key.

    Where the next run costs more than a quarter above the first of a group, another begins.
    """
    groups: list[list[Trained]] = []
    for run in sorted(runs, key=flops_of):
        if not groups or flops_of(run) > 1.25 * flops_of(groups[-1][0]):
            groups.append([])
        groups[-1].append(run)
    return {float(np.mean([flops_of(run) for run in each])): each for each in groups}


def valleys(runs: Sequence[Trained]) -> tuple[Valley, ...]:
    """The valley of each budget with three sizes or more, where the parabola opens upward."""
    found = [_valley(flops, each) for flops, each in by_budget(runs).items()]
    return tuple(each for each in found if each is not None)


def _valley(flops: float, runs: Sequence[Trained]) -> Valley | None:
    sizes = sorted({run.n for run in runs})
    if len(sizes) < 3:
        return None
    middle = float(np.mean(np.log([run.n for run in runs])))
    logs = np.log([run.n for run in runs]) - middle
    a, b, c = map(float, np.polyfit(logs, [run.loss for run in runs], 2))
    if a <= 0:
        return None
    size = float(np.exp(middle - b / (2 * a)))
    return Valley(flops, a, size, c - b * b / (4 * a), sizes[0] < size < sizes[-1])


def line_through(found: Sequence[Valley]) -> Line | None:
    """The line of the best sizes in powers of the budget; None of fewer than two valleys."""
    inside = [each for each in found if each.is_inside]
    if len(inside) < 2:
        return None
    logs = np.log([each.flops for each in inside])
    power, scale = np.polyfit(logs, np.log([each.size for each in inside]), 1)
    return Line(float(np.exp(scale)), float(power))
