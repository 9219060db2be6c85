"""What two models expect at the same place: the likeliest tokens of both, side by side."""

from dataclasses import dataclass

import pandas as pd
import torch
from torch import Tensor


@dataclass(frozen=True)
class TwoPredictions:
    """What A and B expect at a place: `table`, token_id, a, b, the likeliest of either first.

    `distance`: total variation, 0 to 1; `agreement`: share of all places at which both expect the
    same token most.
    """

    table: pd.DataFrame
    distance: float
    agreement: float

    def first(self, side: str) -> pd.Series:
        """The row of what A ("a") or B ("b") expects most."""
        return self.table.iloc[int(self.table[side].argmax())]


def two_predictions(a: Tensor, b: Tensor, place: int, n_likeliest: int) -> TwoPredictions:
    """`a`, `b`: logits (seq, vocab_size) of the same tokens; a token that one lacks has 0 there."""
    p_a, p_b = _padded(a[place], b[place])
    wanted = torch.cat([p.topk(min(n_likeliest, len(p))).indices for p in (p_a, p_b)]).unique()
    found = torch.stack((wanted.double(), p_a[wanted].double(), p_b[wanted].double()), dim=1)
    table = pd.DataFrame(found.cpu().numpy(), columns=["token_id", "a", "b"])
    table["token_id"] = table["token_id"].astype(int)
    order = table[["a", "b"]].max(axis=1).sort_values(ascending=False, kind="stable").index
    agreement = (a.argmax(dim=-1) == b.argmax(dim=-1)).float().mean()
    distance = (p_a - p_b).abs().sum() / 2
    return TwoPredictions(
        table.loc[order].reset_index(drop=True), float(distance), float(agreement)
    )


def _padded(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Probabilities over the larger of both vocabularies."""
    n = max(len(a), len(b))
    p_a, p_b = (torch.nn.functional.pad(x.float().softmax(dim=-1), (0, n - len(x))) for x in (a, b))
    return p_a, p_b
