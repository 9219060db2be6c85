"""Heads that share keys and values (GQA, MQA): how alike they come to read."""

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


def _mean(values: Tensor) -> float | None:
    return float(values.mean()) if values.numel() else None
