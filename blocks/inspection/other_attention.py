"""One head attending in other ways on the same queries, keys and values: maps, and how far off."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from blocks.inspection import tiles
from blocks.inspection.head_steps import AttentionSteps
from blocks.model.attention_kinds import (
    AttentionKind,
    Reach,
    attend_as,
    mask_of,
    pairs_scored,
    pattern_of,
)

APPROXIMATE = [AttentionKind.WINDOW, AttentionKind.STRIDED, AttentionKind.LINEAR]


@dataclass(frozen=True, eq=False)
class KindsFacts:
    """One head attending in every way; `errors`: a row per kind (see `errors`), in their order.

    `codes`: their maps (see `maps`).
    """

    layer: int
    head: int
    errors: pd.DataFrame
    codes: NDArray[np.uint8]

    def error(self, kind: AttentionKind) -> float:
        """How far a kind is from full attention."""
        return float(self._row(kind)["error"])

    def pair_share(self, kind: AttentionKind) -> float:
        """The pairs that a kind scores, by those of full attention."""
        return float(self._row(kind)["pairs"] / self._row(AttentionKind.FULL)["pairs"])

    @property
    def nearest(self) -> AttentionKind:
        """The approximate kind with the least error."""
        return min(APPROXIMATE, key=self.error)

    @property
    def furthest(self) -> AttentionKind:
        """The approximate kind with the largest error."""
        return max(APPROXIMATE, key=self.error)

    def _row(self, kind: AttentionKind) -> pd.Series:
        return self.errors.iloc[list(AttentionKind).index(kind)]


def kinds_facts(steps: AttentionSteps, layer: int, head: int, reach: Reach) -> KindsFacts:
    """A head of a layer on its own queries, keys and values; a bias is left out."""
    q, k, v = steps.q[head], steps.k[head], steps.v[head]
    return KindsFacts(layer, head, errors(q, k, v, reach), maps(q, k, reach))


def maps(q: Tensor, k: Tensor, reach: Reach) -> NDArray[np.uint8]:
    """How each kind weighs keys, side by side, one byte per cell; q and k are (seq, d_head)."""
    codes = [
        tiles.encode(pattern_of(kind, reach, q, k), mask_of(kind, reach, len(q)).to(q.device))
        for kind in AttentionKind
    ]
    return tiles.tile(tiles.shrink(torch.stack(codes)), len(codes))


def errors(q: Tensor, k: Tensor, v: Tensor, reach: Reach) -> pd.DataFrame:
    """One row per kind: kind, error, moved, pairs; q, k, v are (seq, d_head).

    `error`: |out − full| / |full| over all queries; `moved`: the share of weight that lies on
    other keys than in full attention (total variation), mean over queries; `pairs`: pairs scored.
    """
    q, k, v = (x.float() for x in (q, k, v))
    whole = pattern_of(AttentionKind.FULL, reach, q, k)
    out, rows = whole @ v, []
    for kind in AttentionKind:
        found = attend_as(kind, reach)(q[None, None], k[None, None], v[None, None])[0, 0]
        moved = (pattern_of(kind, reach, q, k) - whole).abs().sum(dim=-1).mean() / 2
        rows.append(torch.stack(((found - out).norm() / out.norm().clamp(min=1e-12), moved)))
    table = pd.DataFrame(torch.stack(rows).cpu().numpy(), columns=["error", "moved"])
    table.insert(0, "kind", [str(kind) for kind in AttentionKind])
    table["pairs"] = [pairs_scored(kind, reach, len(q)) for kind in AttentionKind]
    return table
