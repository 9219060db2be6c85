"""Counts of one instrument put together: of a model, and over models with intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import torch

from blocks.known.cells import Cell
from blocks.model.randomness import generator

Z, N_DRAWS = 1.96, 1000


@dataclass(frozen=True)
class Score:
    """How one instrument did over models: in how many it was right, and its mean score (F1).

    `ends`: of the interval of Wilson for the share of models; `mean_ends`: the middle 95 % of means
    with models and seeds drawn again, or that of Wilson where all are equal.
    `by_seed`: the mean of each seed.
    """

    instrument: str
    question: str
    n_right: int
    n: int
    ends: tuple[float, float]
    precision: float
    recall: float
    mean: float
    mean_ends: tuple[float, float]
    chance: float
    by_seed: tuple[float, ...]

    @property
    def is_above_chance(self) -> bool:
        """Whether the whole interval is, in whole percent, as it is shown."""
        return round(100 * self.mean_ends[0]) > round(100 * self.chance)

    @property
    def spread(self) -> float:
        """How far the means of the seeds lie apart."""
        return max(self.by_seed) - min(self.by_seed)

    @property
    def points(self) -> float:
        """The same in percentage points."""
        return 100 * self.spread


def wilson(n_right: float, n: int) -> tuple[float, float]:
    """The interval of Wilson (1927) for a share, 95 %."""
    share, square = n_right / n, Z * Z / n
    middle, half = share + square / 2, Z * sqrt(share * (1 - share) / n + square / (4 * n))
    return (middle - half) / (1 + square), min(1.0, (middle + half) / (1 + square))


def score(cells: Sequence[Cell]) -> Score:
    """Of one instrument, over its models."""
    told = [each for each in cells if each.scores]
    rows = np.array([each.scores for each in told])  # (model, seed)
    n_right, n = sum(each.is_right for each in told), len(told)
    return Score(
        cells[0].instrument,
        cells[0].question,
        n_right,
        n,
        wilson(n_right, n),
        float(np.mean([each.precision for each in told])),
        float(np.mean([each.recall for each in told])),
        float(rows.mean()),
        _bootstrap(rows) if np.ptp(rows) else wilson(float(rows.mean()) * n, n),
        float(np.mean([each.chances for each in told])),
        tuple(rows.mean(0).tolist()),
    )


def _bootstrap(rows: "np.ndarray[Any, Any]") -> tuple[float, float]:
    """The middle 95 % of means: models drawn again, and the seeds of each."""
    random = generator(0, "bootstrap")
    n, n_seeds = rows.shape
    models = torch.randint(n, (N_DRAWS, n, 1), generator=random).numpy()
    seeds = torch.randint(n_seeds, (N_DRAWS, n, n_seeds), generator=random).numpy()
    means = rows[models, seeds].mean((1, 2))
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)
