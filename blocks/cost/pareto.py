"""Trade-offs: which of many configurations no other one beats."""

import numpy as np
from numpy.typing import NDArray


def pareto_front(
    points: NDArray[np.float64], more_is_better: tuple[bool, ...]
) -> NDArray[np.bool_]:
    """(n,), True where no other point is at least as good on every axis and better on one.

    `points`: (n, n_axes), finite; `more_is_better`: one an axis. Equal points stand or fall
    together (Deb 2001, section 2.4).
    """
    cost = np.where(np.asarray(more_is_better), -points, points)
    no_worse = (cost[:, None] <= cost[None]).all(axis=-1)  # (n, n): row against column
    better = (cost[:, None] < cost[None]).any(axis=-1)
    return np.logical_not((no_worse & better).any(axis=0))
