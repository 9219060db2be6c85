"""Why scores are divided by √d_head: what the softmax makes of them with and without."""

from dataclasses import dataclass

import pandas as pd
import torch
from torch import Tensor

from blocks.model.randomness import generator

D_HEADS = tuple(2**i for i in range(10))
LEAST_ROWS = 256


@dataclass(frozen=True)
class Sharpness:
    """How sharp the rows of a pattern are, on average over the queries that have a choice.

    entropy_bits: 0 is one key alone; largest_weight: 1 is one key alone; slope: Σ p(1 − p), the
    sum of what each weight changes by per unit of its score: 0 where nothing can be learned.
    """

    entropy_bits: float
    largest_weight: float
    slope: float


def sharpness(scores: Tensor, mask: Tensor) -> Sharpness:
    """Of the softmax of these scores: (…, query, key), `mask` (query, key).

    Zeros (slope and weight of a certain choice) where no query has two keys to choose from.
    """
    has_choice = mask.sum(-1) > 1
    if not has_choice.any():
        return Sharpness(0.0, 1.0, 0.0)
    seen = scores.masked_fill(~mask, -torch.inf)[..., has_choice, :]
    pattern = seen.float().softmax(-1)
    entropy = torch.special.entr(pattern).sum(-1).mean() / torch.log(torch.tensor(2.0))
    slope = (pattern * (1 - pattern)).sum(-1).mean()
    numbers = torch.stack((entropy, pattern.amax(-1).mean(), slope))
    return Sharpness(*numbers.tolist())


def random_sharpness(mask: Tensor, seed: int, d_heads: tuple[int, ...] = D_HEADS) -> pd.DataFrame:
    """A row a width, with and without the division: random queries and keys from N(0, 1).

    Columns: d_head, is_scaled, score_std, and those of `Sharpness`. So many sequences are drawn
    that at least 256 queries are averaged; all see what `mask` (query, key) lets them see.
    """
    rows = []
    for d_head in d_heads:
        scores = _random_scores(mask, d_head, seed)
        for is_scaled in (True, False):
            factor = d_head**-0.5 if is_scaled else 1.0
            found = sharpness(factor * scores, mask)
            std = float((factor * scores).std())
            rows.append({"d_head": d_head, "is_scaled": is_scaled, "score_std": std, **vars(found)})
    return pd.DataFrame(rows)


def _random_scores(mask: Tensor, d_head: int, seed: int) -> Tensor:
    """QKᵀ of random queries and keys: (sequences, query, key)."""
    seq_len = mask.shape[-1]
    shape = (-(-LEAST_ROWS // seq_len), seq_len, d_head)
    drawn = (torch.randn(shape, generator=generator(seed, "scaling", name)) for name in "qk")
    q, k = (x.to(mask.device) for x in drawn)
    return q @ k.mT
