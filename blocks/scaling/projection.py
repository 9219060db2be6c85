"""L(N, D) = E + A/N^α + B/D^β by variable projection, for many weightings of the same runs at once.

Once α and β are fixed the loss is linear in E, A and B: these are found exactly, not below 0, and
only two numbers are searched (Golub and Pereyra 1973; of scaling laws arXiv:2603.22339).
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from blocks.cost.loss_fit import Trained
from blocks.cost.scaling_laws import LossFit
from blocks.model.faults import N_, ConfigError, Fault

Floats = NDArray[np.float64]

LEAST, MOST = 0.02, 2.0  # of both powers
N_FIRST, N_FINER, N_ROUNDS, SHRINK = 24, 5, 24, 0.6
FEWEST = 6  # runs: one more than the law has constants
SUBSETS = tuple(each for n in (3, 2, 1) for each in combinations(range(3), n))
TINY = 1e-300


def fit_law(runs: Sequence[Trained]) -> LossFit:
    """The law with the least squares of relative errors. Raises `ConfigError` for too few runs."""
    return fit_weighted(runs, np.ones((1, len(runs))))[0]


def fit_weighted(runs: Sequence[Trained], weights: Floats) -> list[LossFit]:
    """A law for each row of weights: (laws, runs). Raises `ConfigError` for too few runs.

    Both powers are looked for on one grid, then on small ones around the best pair of each.
    """
    sizes, tokens = ({each[i] for each in runs} for i in (0, 1))
    if len({(each.n, each.d) for each in runs}) < FEWEST or len(sizes) < 3 or len(tokens) < 3:
        text = N_(
            "A law with five parameters needs at least {fewest} runs, with three or more "
            "sizes and three or more numbers of tokens; here there are {n}"
        )
        raise ConfigError([Fault(text, {"n": len(runs), "fewest": FEWEST})])
    measured = np.array(runs, dtype=np.float64)
    grid = np.geomspace(LEAST, MOST, N_FIRST)
    alpha, beta = (each.reshape(1, -1) for each in np.meshgrid(grid, grid))
    step = grid[1] / grid[0]
    for _round in range(N_ROUNDS):
        best, constants = _best(measured, weights, alpha, beta)
        around = step ** np.linspace(-1, 1, N_FINER)
        pairs = [each.ravel() for each in np.meshgrid(around, around)]
        alpha, beta = (best[:, i, None] * pairs[i] for i in (0, 1))
        step **= SHRINK
    return [
        LossFit(*map(float, (*abc, *powers))) for abc, powers in zip(constants, best, strict=True)
    ]


def _best(runs: Floats, weights: Floats, alpha: Floats, beta: Floats) -> tuple[Floats, Floats]:
    """The best pair of powers of each law, and its E, A and B: (laws, 2) and (laws, 3)."""
    n, d, losses = runs.T
    # A/N^α in units of the smallest size, so that its terms are near 1
    terms = np.stack(
        [
            np.broadcast_to(1 / losses, (*alpha.shape, len(runs))),
            (n / n.min()) ** -alpha[..., None] / losses,
            (d / d.min()) ** -beta[..., None] / losses,
        ],
        axis=-1,
    )  # (laws or 1, pairs, runs, 3)
    products = (terms[..., :, None] * terms[..., None, :]).reshape(*terms.shape[:3], 9)
    rows = weights[:, None, None, :]
    squares = (rows @ products).reshape(len(weights), -1, 3, 3)
    found, gain = _non_negative(squares, (rows @ terms)[..., 0, :])
    i, laws = gain.argmax(axis=1), np.arange(len(weights))
    powers = np.stack([np.broadcast_to(each, gain.shape)[laws, i] for each in (alpha, beta)], -1)
    scale = np.stack([np.ones(len(i)), n.min() ** powers[:, 0], d.min() ** powers[:, 1]], -1)
    return powers, found[laws, i] * scale


def _non_negative(squares: Floats, wanted: Floats) -> tuple[Floats, Floats]:
    """Least squares whose three unknowns are not below 0, and by how much each lowers the errors.

    With three unknowns every set of those that are not 0 can be tried: the best one that is legal.
    """
    best = np.zeros_like(wanted)
    most = np.zeros(wanted.shape[:-1])
    for kept in SUBSETS:
        part = squares[..., kept, :][..., kept]
        ridge = 1e-13 * np.trace(part, axis1=-2, axis2=-1)[..., None, None] * np.eye(len(kept))
        right = wanted[..., kept]
        found = np.linalg.solve(part + ridge + TINY * np.eye(len(kept)), right[..., None])[..., 0]
        gain = 2 * (found * right).sum(-1) - np.einsum("...i,...ij,...j", found, part, found)
        is_better = (found >= 0).all(-1) & (gain > most)
        most = np.where(is_better, gain, most)
        full = np.zeros_like(wanted)
        full[..., kept] = found
        best = np.where(is_better[..., None], full, best)
    return best, most
