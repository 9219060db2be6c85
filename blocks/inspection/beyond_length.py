"""What attention does with texts longer than a model was made for."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from blocks.model.faults import Fault
from blocks.model.kinds import PositionKind
from blocks.observe.recording import record
from blocks.training.task import IGNORED, Batch

FACTORS = (1, 2, 4)
BANDS = 24
WORSE, BETTER = 1.2, 0.9
HEAD_MEASURES = ("entropy_share", "distance", "far_share", "score_mean", "score_std", "score_max")


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

    def of_head(self, head: int) -> tuple[float, ...]:
        """HEAD_MEASURES of one head."""
        return tuple(float(getattr(self, name)[head]) for name in HEAD_MEASURES)


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
    """Mean bits per token in bands of `band` positions: position (the middle, from 1), bits, error.

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
    """Mean bits per token over the positions `start` to `end` − 1; None where nothing was asked."""
    total, _squares, count = found[:, start:end].sum(axis=1)
    return float(total / count) if count else None


class Tried(NamedTuple):
    """A kind of positions in texts of `factor` times the trained length, or why it cannot be."""

    kind: PositionKind
    factor: int
    found: Spread | Fault


class Refused(NamedTuple):
    """A kind that cannot be so long, or does not fit at all."""

    kind: PositionKind
    lengths: tuple[int, ...]
    fault: Fault


@dataclass(frozen=True, eq=False)
class BeyondFacts:
    """How the last query of one head spreads its weight in texts longer than trained.

    `spreads`: kind, factor, seq_len, n_visible, then the measures of `Spread` for the head;
    `bands`: factor, seq_len and the weights (see `banded`) of the kind that is looked at;
    `n_kinds`: how many kinds were tried in the longest texts.
    """

    kind: PositionKind
    head: int
    trained_len: int
    is_trained: bool
    spreads: pd.DataFrame
    bands: tuple[tuple[int, int, pd.DataFrame], ...]
    refused: tuple[Refused, ...]
    n_kinds: int

    @property
    def shown(self) -> pd.DataFrame:
        """The results of the kind that is shown, the shortest text first."""
        return self.spreads[self.spreads["kind"] == self.kind]

    @property
    def longest(self) -> pd.DataFrame:
        """The results at the longest text that each kind could read, the sharpest first."""
        is_longest = self.spreads["factor"] == self.spreads["factor"].max()
        return self.spreads[is_longest].sort_values("entropy_share", kind="stable")


def beyond_facts(
    tried: Sequence[Tried], kind: PositionKind, head: int, *, trained_len: int, is_trained: bool
) -> BeyondFacts:
    """What a head does in all that was tried, and in one kind closely."""
    worked = [(kind, n, found) for kind, n, found in tried if isinstance(found, Spread)]
    rows = [
        (each, factor, found.seq_len, found.n_visible, *found.of_head(head))
        for each, factor, found in worked
    ]
    bands = tuple(
        (factor, found.seq_len, banded(found.weight[head]))
        for each, factor, found in worked
        if each is kind
    )
    names = ["kind", "factor", "seq_len", "n_visible", *HEAD_MEASURES]
    spreads = pd.DataFrame(rows, columns=names)
    refused = _refused(tried, trained_len)
    n_kinds = sum(factor == FACTORS[-1] for _kind, factor, _found in tried)
    return BeyondFacts(kind, head, trained_len, is_trained, spreads, bands, refused, n_kinds)


def _refused(tried: Sequence[Tried], trained_len: int) -> tuple[Refused, ...]:
    faults: dict[PositionKind, list[tuple[int, Fault]]] = {}
    for each in tried:
        if isinstance(each.found, Fault):
            faults.setdefault(each.kind, []).append((each.factor * trained_len, each.found))
    return tuple(
        Refused(kind, tuple(length for length, _fault in found), found[0][1])
        for kind, found in faults.items()
    )


@dataclass(frozen=True, eq=False)
class LossFacts:
    """What a token costs by its position, within the trained length and beyond it.

    `bands`: see `bits_in_bands`; `inside`, `last`: bits per token in the second half of the trained
    length, and at the end of the texts (None where nothing was asked there).
    """

    kind: PositionKind
    seed: int
    trained_len: int
    n: int
    n_examples: int
    bands: pd.DataFrame
    inside: float | None
    last: float | None

    @property
    def wanted(self) -> int:
        """How long the texts ought to be."""
        return FACTORS[-1] * self.trained_len

    @property
    def is_worse(self) -> bool:
        """Whether the loss rises by a fifth."""
        return self._ratio > WORSE

    @property
    def is_better(self) -> bool:
        """Whether it falls by a tenth."""
        return self._ratio < BETTER

    @property
    def falls(self) -> bool:
        """Whether the last band costs less than the first one, by more than the errors of both."""
        first, last = self.bands.iloc[0], self.bands.iloc[-1]
        return bool(last["bits"] + last["error"] < first["bits"] - first["error"])

    @property
    def _ratio(self) -> float:
        return self.last / self.inside if self.last and self.inside else 1.0


def loss_facts(
    found: NDArray[np.float64],
    kind: PositionKind,
    *,
    seed: int,
    trained_len: int,
    n: int,
    n_examples: int,
) -> LossFacts:
    """Read `found`, as `bits_by_position`, in bands of an eighth of the trained length."""
    return LossFacts(
        kind,
        seed,
        trained_len,
        n,
        n_examples,
        bits_in_bands(found, max(1, trained_len // 8)),
        inside=mean_bits(found, trained_len // 2, trained_len),
        last=mean_bits(found, max(trained_len, n - trained_len // 2), n),
    )
