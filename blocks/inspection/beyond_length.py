"""What attention does with texts longer than a model was made for."""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from blocks.observe.recording import record
from blocks.training.task import IGNORED, Batch

FACTORS = (1, 2, 4)
BANDS = 24


@dataclass(frozen=True, eq=False)
class Spread:
    """How the last query of a layer spreads its weight over what it may see.

    Per head, mean over the batch: `weight` (n_heads, distance), 0 where it may not see;
    `entropy_share`, entropy / log of the number of keys it may see (0: one key, 1: all alike);
    `distance`, mean tokens back; `far_share`, weight on keys `trained_len` tokens back or more;
    `score_mean`, `score_std`, `score_max` of its scores. `n_visible`: how many keys it may see.
    """

    seq_len: int
    n_visible: int
    weight: NDArray[np.float32]
    entropy_share: NDArray[np.float32]
    distance: NDArray[np.float32]
    far_share: NDArray[np.float32]
    score_mean: NDArray[np.float32]
    score_std: NDArray[np.float32]
    score_max: NDArray[np.float32]


def spread(
    model: torch.nn.Module, values: Tensor, mask: Tensor | None, *, layer: int, trained_len: int
) -> Spread:
    """Run `model` on (batch, seq, …) and read the last query of every head of a layer.

    A model whose positions end before `seq` raises `ConfigError`.
    """
    paths = {name: f"layers.{layer}.{name}" for name in ("pattern", "scores")}
    seen = record(model, values, mask=mask, keep=set(paths.values()))
    pattern, scores = (seen.tensors[path][:, :, -1].float() for path in paths.values())
    n = pattern.shape[-1]
    is_visible = scores.isfinite()
    n_visible = int(is_visible[0, 0].sum())
    back = torch.arange(n - 1, -1, -1, device=pattern.device, dtype=torch.float32)
    seen_scores = scores.where(is_visible, 0)
    mean = seen_scores.sum(-1) / max(n_visible, 1)
    variance = ((scores - mean[..., None]).where(is_visible, 0) ** 2).sum(-1) / max(n_visible, 1)
    entropy = torch.special.entr(pattern).sum(-1) / max(math.log(max(n_visible, 1)), 1e-9)
    measures = torch.stack(
        (
            entropy if n_visible > 1 else torch.zeros_like(entropy),
            (pattern * back).sum(-1),
            (pattern * (back >= trained_len)).sum(-1),
            mean,
            variance.sqrt(),
            scores.amax(-1).nan_to_num(neginf=0),
        )
    ).mean(dim=1)
    weight = pattern.mean(dim=0).flip(-1)
    return Spread(n, n_visible, weight.cpu().numpy(), *measures.cpu().numpy())


def banded(weight: NDArray[np.float32]) -> pd.DataFrame:
    """Weights by distance (distance,) in bands that widen with it: distance, weight, least, most.

    `distance` is the middle of a band, in tokens back (0 is the query itself); `weight` the mean
    weight of a key in it; `least` and `most` its ends.
    """
    n = len(weight)
    ends = np.unique(np.geomspace(1, n + 1, BANDS).round().astype(int)) - 1
    rows = [(start, end - 1, weight[start:end].mean()) for start, end in pairwise(ends)]
    table = pd.DataFrame(rows, columns=["least", "most", "weight"])
    return table.assign(distance=(table["least"] + table["most"]) / 2)


def bits_by_position(model: torch.nn.Module, batch: Batch) -> NDArray[np.float64]:
    """What the right token cost at each position, in bits: (3, seq).

    Rows: sum over the batch, sum of squares, and how many were asked there.
    """
    with torch.no_grad():
        logits = model(batch.token_ids)
    is_asked = batch.targets != IGNORED
    nats = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1).float(),
        batch.targets.flatten(),
        ignore_index=IGNORED,
        reduction="none",
    )
    bits = (nats / math.log(2)).view(batch.targets.shape)
    rows = torch.stack((bits.sum(0), bits.square().sum(0), is_asked.sum(0).float()))
    return rows.double().cpu().numpy()


def bits_in_bands(found: NDArray[np.float64], band: int) -> pd.DataFrame:
    """Mean bits a token in bands of `band` positions: position (the middle, from 1), bits, error.

    `found` as `bits_by_position`; `error` is the standard error of the mean. Bands in which
    nothing was asked are left out.
    """
    total, squares, count = (
        np.add.reduceat(row, np.arange(0, found.shape[1], band)) for row in found
    )
    start = np.arange(0, found.shape[1], band)
    end = np.minimum(start + band, found.shape[1])
    asked = count > 0
    mean = total[asked] / count[asked]
    variance = np.maximum(squares[asked] / count[asked] - mean**2, 0)
    return pd.DataFrame(
        {
            "position": ((start + 1 + end) / 2)[asked],
            "first": start[asked] + 1,
            "last": end[asked],
            "bits": mean,
            "error": np.sqrt(variance / count[asked]),
            "count": count[asked].astype(int),
        }
    )


def mean_bits(found: NDArray[np.float64], start: int, end: int) -> float | None:
    """Mean bits a token over the positions `start` to `end` − 1; None where nothing was asked."""
    total, _squares, count = found[:, start:end].sum(axis=1)
    return float(total / count) if count else None
