"""Heads that share keys and values (GQA, MQA): made of a model's own, and how alike they read."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812


class Likeness(NamedTuple):
    """Mean cosine of the maps of two heads: of one group, and of two; None where no such two."""

    within: float | None
    across: float | None


def likeness(pattern: Tensor, n_kv_heads: int) -> Likeness:
    """How alike heads read that share keys and values, and heads that do not.

    `pattern`: (batch, n_heads, query, key); the query heads of one group stand side by side.
    """
    n_heads = pattern.shape[1]
    flat = F.normalize(pattern.float().transpose(0, 1).flatten(1), dim=-1)
    cosine = flat @ flat.T
    group = torch.arange(n_heads, device=pattern.device) // (n_heads // n_kv_heads)
    is_alike = group[:, None] == group
    is_pair = ~torch.eye(n_heads, dtype=torch.bool, device=pattern.device)
    return Likeness(_mean(cosine[is_alike & is_pair]), _mean(cosine[~is_alike]))


def pooled(x: Tensor, n_kv_heads: int) -> Tensor:
    """Keys or values averaged until `n_kv_heads` of them are left: (batch, heads, seq, d_head).

    Each stands again in the place of those it is the mean of, so that a model reads on. The mean
    of projections is the projection by their mean, with which Ainslie et al. 2023, section 2.1,
    begin to train a model with fewer keys and values.
    """
    groups = x.unflatten(1, (n_kv_heads, -1))
    return groups.mean(dim=2, keepdim=True).expand_as(groups).flatten(1, 2)


def _mean(values: Tensor) -> float | None:
    return float(values.mean()) if values.numel() else None
