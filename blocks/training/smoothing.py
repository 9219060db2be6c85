"""A noisy curve, made readable."""

import numpy as np
import pandas as pd

SHARE = 0.02


def half_life(n_steps: int) -> float:
    """After how many steps a loss counts half: a fiftieth of the run, at least one step."""
    return max(SHARE * n_steps, 1.0)


def smoothed(curves: pd.DataFrame, *, n_steps: int) -> pd.Series:
    """The loss as a mean over what came before, in which old steps fade exponentially.

    `curves` has columns step and loss; steps may be unevenly far apart. Of each step the loss
    counts 0.5^(age / half-life), and the mean is over what there is: the first value is itself.
    """
    decay = 0.5 ** (np.diff(curves["step"], prepend=0) / half_life(n_steps))
    total = weight = 0.0
    means = []
    for loss, factor in zip(curves["loss"], decay, strict=True):
        total, weight = total * factor + loss, weight * factor + 1
        means.append(total / weight)
    return pd.Series(means, index=curves.index, dtype=float)
