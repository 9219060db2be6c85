"""Trade-offs: which of many configurations no other one beats."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def pareto_front(
    points: NDArray[np.float64], more_is_better: tuple[bool, ...]
) -> NDArray[np.bool_]:
    """(n,), True where no other point is at least as good on every axis and better on one.

    `points`: (n, n_axes), finite; `more_is_better`: one per axis. Equal points stand or fall
    together (Deb 2001, section 2.4).
    """
    cost = np.where(np.asarray(more_is_better), -points, points)
    no_worse = (cost[:, None] <= cost[None]).all(axis=-1)  # (n, n): row against column
    better = (cost[:, None] < cost[None]).any(axis=-1)
    return np.logical_not((no_worse & better).any(axis=0))


@dataclass(frozen=True, eq=False)
class FrontFacts:
    """Models by two numbers that both apply to them: `points`, key, name, x, y, on_front.

    `n_left_out`: those to which one does not apply, as a cache to an encoder.
    """

    points: pd.DataFrame
    more_is_better: tuple[bool, bool]
    n_left_out: int

    @property
    def front(self) -> list[str]:
        """The points on the front, from the least x to the largest."""
        points = self.points
        return list(points[points["on_front"]].sort_values("x")["name"])

    def better_than(self, key: str) -> str:
        """Name one of the front that is no worse on either axis; none for the front itself."""
        own = self.points[self.points["key"] == key]
        if own["on_front"].any() or own.empty:
            return ""
        as_good = self.points["on_front"]
        for axis, more in zip("xy", self.more_is_better, strict=True):
            least, values = own[axis].iloc[0], self.points[axis]
            as_good &= values >= least if more else values <= least
        return str(self.points[as_good]["name"].iloc[0])


def front_facts(models: pd.DataFrame, more_is_better: tuple[bool, bool]) -> FrontFacts:
    """Which models no other beats; `models`: key, name, x, y, 0 where there is no such number."""
    points = models[(models["x"] > 0) & (models["y"] > 0)].reset_index(drop=True)
    front = pareto_front(points[["x", "y"]].to_numpy(dtype=np.float64), more_is_better)
    points = points.assign(on_front=front)
    return FrontFacts(points, more_is_better, len(models) - len(points))
