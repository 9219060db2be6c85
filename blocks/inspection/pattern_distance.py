"""How far apart two attention patterns lie: total variation, query by query."""

import torch
from torch import Tensor


def total_variation(a: Tensor, b: Tensor) -> Tensor:
    """½ · Σ |a − b| over the keys, from 0 (the same) to 1 (nothing in common).

    The share of weight that would have to move from one key to another to turn one into the
    other (Levin and Peres 2017, propositions 4.2, 4.7). (..., query, key) to (..., query), float32.
    """
    return (a.float() - b.float()).abs().sum(dim=-1) / 2


def comparable_queries(mask_a: Tensor | None, mask_b: Tensor | None, n: int) -> Tensor:
    """(query,), True where there is something to compare, in the first sequence of each mask.

    A query that sees one key in both has no choice; one that sees none in either has no pattern.
    """
    seen_a, seen_b = _n_seen(mask_a, n), _n_seen(mask_b, n).to(_device(mask_a, mask_b))
    seen_a = seen_a.to(seen_b.device)
    return (seen_a > 0) & (seen_b > 0) & ((seen_a > 1) | (seen_b > 1))


def head_distances(a: Tensor, b: Tensor, counts: Tensor) -> Tensor:
    """Mean total variation of each head of `a` to the head of `b` with its number: (n_common,).

    `a`, `b`: (n_heads, query, key) of the same tokens, of as many heads as each has;
    `counts`: (query,), which queries are averaged; where none is, the distance is 0.
    """
    n = min(len(a), len(b))
    return _mean(total_variation(a[:n], b[:n]), counts)


def all_distances(a: Tensor, b: Tensor, counts: Tensor) -> Tensor:
    """Distance of every head of a to every head of b: (heads of a, heads of b).

    One head of `a` at a time, so that no more is alive than one pattern of `b`.
    """
    return torch.stack([_mean(total_variation(head, b), counts) for head in a])


def _mean(distances: Tensor, counts: Tensor) -> Tensor:
    """(n_heads, query) to (n_heads,)."""
    return (distances * counts).sum(dim=-1) / counts.sum().clamp(min=1)


def _n_seen(mask: Tensor | None, n: int) -> Tensor:
    if mask is None:
        return torch.full((n,), n)
    return mask.reshape(-1, n, n)[0].sum(dim=-1)


def _device(*masks: Tensor | None) -> torch.device:
    return next((mask.device for mask in masks if mask is not None), torch.device("cpu"))
