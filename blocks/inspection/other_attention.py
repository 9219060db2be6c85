"""One head attending in other ways on the same queries, keys and values: maps, and how far off."""

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from blocks.inspection import tiles
from blocks.model.attention_kinds import (
    AttentionKind,
    Reach,
    attend_as,
    mask_of,
    pairs_scored,
    pattern_of,
)


def maps(q: Tensor, k: Tensor, reach: Reach) -> NDArray[np.uint8]:
    """How each kind weighs keys, side by side, one byte a cell; q and k are (seq, d_head)."""
    codes = [
        tiles.encode(pattern_of(kind, reach, q, k), mask_of(kind, reach, len(q)).to(q.device))
        for kind in AttentionKind
    ]
    return tiles.tile(tiles.shrink(torch.stack(codes)), len(codes))


def errors(q: Tensor, k: Tensor, v: Tensor, reach: Reach) -> pd.DataFrame:
    """One row a kind: kind, error, moved, pairs; q, k, v are (seq, d_head).

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
