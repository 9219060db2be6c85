"""Fit a law to trainings of one's own: sizes, tokens and losses in, a scaling law out."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blocks.cost.scaling_laws import Law, LossFit, law_of
from blocks.model.faults import N_, ConfigError, Fault

LEAST, MOST, N_POWERS, N_ROUNDS = 0.05, 1.5, 24, 8
HUBER, N_TURNS, TINY = 1e-3, 12, 1e-14
FEWEST = 6  # trainings: one more than the law has constants


class Trained(NamedTuple):
    """A model of n parameters after d tokens, and its held-out loss in nats per token."""

    n: float
    d: float
    loss: float


def fit_loss(runs: Sequence[Trained]) -> LossFit:
    """L = E + A/N^α + B/D^β with the least relative errors, E, A and B not below 0.

    Errors count as Huber's, with 10⁻³ as in Hoffmann et al. 2022 (appendix D.3), so that a training
    that stopped in its first steep fall moves little. For given powers that is linear, weighted
    anew in turns; powers are looked for on grids, each finer than the last. Raises `ConfigError`
    for fewer trainings than can say five numbers.
    """
    if len(runs) < FEWEST:
        text = N_("A law with five parameters cannot be fitted to {n} runs: make at least {fewest}")
        raise ConfigError([Fault(text, {"n": len(runs), "fewest": FEWEST})])
    alphas = betas = np.geomspace(LEAST, MOST, N_POWERS)
    for _round in range(N_ROUNDS):
        found = _best(np.array(runs, dtype=np.float64), alphas, betas)
        alphas, betas = _around(alphas, found.alpha), _around(betas, found.beta)
    return found


def _around(values: NDArray[np.float64], best: float) -> NDArray[np.float64]:
    step = (values[-1] / values[0]) ** (1.5 / (len(values) - 1))
    return np.geomspace(best / step, best * step, N_POWERS)


def _best(
    runs: NDArray[np.float64], alphas: NDArray[np.float64], betas: NDArray[np.float64]
) -> LossFit:
    """The best law with powers of this grid."""
    n, d, losses = runs.T
    alpha, beta = (each.ravel()[:, None] for each in np.meshgrid(alphas, betas))
    scale = np.stack([np.ones(len(alpha)), n.min() ** alpha[:, 0], d.min() ** beta[:, 0]], axis=-1)
    terms = np.stack([np.ones((len(alpha), len(n))), n**-alpha, d**-beta], axis=-1)
    terms = terms * scale[:, None] / losses[:, None]  # (powers, trainings, 3)
    weights = np.ones(terms.shape[:2])
    for _turn in range(N_TURNS):
        found = _least_squares(terms, weights)
        off = np.abs(np.einsum("pti,pi->pt", terms, found) - 1)
        weights = 1 / np.maximum(off / HUBER, 1)
    errors = np.where(off < HUBER, off**2 / 2, HUBER * (off - HUBER / 2)).sum(-1)
    errors[(found < 0).any(-1)] = np.inf
    i = int(errors.argmin())
    floor, a, b = (float(each) for each in found[i] * scale[i])
    return LossFit(floor, a, b, float(alpha[i, 0]), float(beta[i, 0]))


def _least_squares(terms: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """E, A and B that bring each weighted row of terms nearest to 1; (powers, 3)."""
    squares = np.einsum("pti,pt,ptj->pij", terms, weights, terms) + TINY * np.eye(3)
    return np.linalg.solve(squares, np.einsum("pti,pt->pi", terms, weights)[..., None])[..., 0]


def fitted_law(runs: Sequence[Trained], title: str, source: str) -> Law:
    """The law of these trainings; its band is what it says without each of them in turn."""
    others = (
        [fit_loss([*runs[:i], *runs[i + 1 :]]) for i in range(len(runs))]
        if len(runs) > FEWEST
        else []
    )
    flops = [6 * each.n * each.d for each in runs]
    return law_of(fit_loss(runs), title, source, (min(flops), max(flops)), *others)
