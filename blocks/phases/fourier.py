"""How a model adds on a clock: which frequencies its embedding uses, and what they are worth.

Nanda et al. 2023, "Progress measures for grokking via mechanistic interpretability"
(arXiv:2301.05217), sections 4 and 5: a network learns a + b mod p by rotations, cos and sin of
2πk(a + b)/p for a few k.
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

MOST_KEYS, KEY_SHARE = 6, 0.9


def waves(p: int) -> Tensor:
    """Cosine and sine of each frequency k = 1 … (p − 1)/2, each of norm 1: (n, 2, p)."""
    k = torch.arange(1, (p - 1) // 2 + 1, dtype=torch.float64)
    angles = 2 * math.pi * k[:, None] * torch.arange(p, dtype=torch.float64) / p
    return torch.stack([angles.cos(), angles.sin()], dim=1) * math.sqrt(2 / p)


def energy(embedding: Tensor) -> Tensor:
    """The share of each frequency in the embedding of p numbers, (p, d_model), without its mean.

    They sum to 1: the waves and the mean are an orthogonal basis of all functions of p numbers.
    """
    found = (waves(len(embedding)) @ embedding.double()).square().sum((1, 2))
    return found / found.sum()


def key_frequencies(embedding: Tensor) -> Tensor:
    """The places (k − 1) of the strongest frequencies: 90 % of the energy, but six at most."""
    shares, order = energy(embedding).sort(descending=True)
    n = int((shares.cumsum(0) < KEY_SHARE).sum()) + 1
    return order[: min(n, MOST_KEYS)]


def planes(embedding: Tensor, places: Tensor) -> Tensor:
    """What reads the plane in which each frequency turns: (places, d_model, 2).

    The planes are not at right angles, so each is read along the others (the pseudo-inverse of all
    their cosines and sines): nothing of another of these frequencies is seen in it. The two
    coordinates are lengths along orthogonal directions of the plane.
    """
    axes = waves(len(embedding))[places] @ embedding.double()
    alone = torch.linalg.pinv(axes.flatten(0, 1)).T.unflatten(0, (-1, 2))
    return alone.mT @ torch.linalg.qr(axes.mT).R.mT


def without(embedding: Tensor, places: Tensor) -> Tensor:
    """The embedding of the numbers without what is in these frequencies."""
    basis = waves(len(embedding))[places].flatten(0, 1)
    return (embedding.double() - basis.T @ (basis @ embedding.double())).to(embedding)


def sum_waves(p: int, places: Tensor, sign: int) -> Tensor:
    """Cosine and sine of w(a ± b) over all pairs, each of norm 1: (2 · places, p²)."""
    a, b = torch.cartesian_prod(torch.arange(p), torch.arange(p)).unbind(1)
    found = waves(p)[places].flatten(0, 1)[:, (a + sign * b) % p]
    return found / found.norm(dim=1, keepdim=True)


def restricted_loss(logits: Tensor, answers: Tensor, basis: Tensor) -> float:
    """The loss where nothing is left of the logits, (p², p), but these waves and the mean.

    It falls as the circuit forms, whatever the model still knows by heart.
    """
    return float(cross_entropy(_within(logits, basis) + logits.double().mean(0), answers))


def excluded_loss(logits: Tensor, answers: Tensor, basis: Tensor, learned: Tensor) -> float:
    """The loss on what is learned from, with these waves taken out of the logits.

    It rises as the model answers by the circuit what it once knew by heart.
    """
    rest = logits.double() - _within(logits, basis)
    return float(cross_entropy(rest[learned], answers[learned]))


def _within(logits: Tensor, basis: Tensor) -> Tensor:
    return basis.T @ (basis @ logits.double())
