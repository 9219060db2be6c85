"""How the weights of a model are spread: by kind, counted on their device.

Tensor after tensor, a piece at a time, so that next to nothing is needed beyond the weights.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from blocks.cost.breakdown import OF_NAMES, Kind
from blocks.model.mixers import MIXERS
from blocks.observe.run import Run

MIXER_TYPES = tuple(MIXERS.values())
PIECE = 2**22  # values that are looked at at once: 16 MiB in float32
N_BINS = 81
REACH = 5.0  # standard deviations that bins span, at most, to either side of the mean
OF_MODULES = {
    **OF_NAMES,
    "embed": Kind.EMBEDDING,
    "source_embed": Kind.EMBEDDING,
    "segment_embed": Kind.EMBEDDING,
    "pooler": Kind.POOLER,
    "feed_forward": Kind.FEED_FORWARD,
    "cross_attention": Kind.CROSS_ATTENTION,
    "attention": Kind.ATTENTION,
}


@dataclass(frozen=True, eq=False)
class WeightValues:
    """`moments`: kind, count, mean, std, min, max, outside (how many lie beyond the bins).

    `bins`: kind, value (centre of the bin), share (of the values of that kind).
    """

    moments: pd.DataFrame
    bins: pd.DataFrame

    @property
    def is_finite(self) -> bool:
        """Whether the values of one kind at least are all numbers."""
        return bool(np.isfinite(self.moments["std"]).any())

    @property
    def by_width(self) -> pd.DataFrame:
        """Moments of the kinds that are all numbers, the narrowest first, without norms."""
        rows = self.moments[self.moments["kind"] != Kind.NORM].dropna()
        return rows.sort_values("std", ignore_index=True, kind="stable")

    @property
    def n_outside(self) -> int:
        """How many values of these kinds lie beyond the bins."""
        return int(self.by_width["outside"].sum())

    @property
    def share_outside(self) -> float:
        """The share of all values of these kinds that lie outside."""
        return self.n_outside / max(1, int(self.by_width["count"].sum()))


@dataclass(frozen=True, eq=False)
class ValueFacts:
    """How the weights of a run are spread, and where they come from.

    `seed`: None of trained weights, whose name is `weights`.
    """

    values: WeightValues
    seed: int | None
    initialization: str
    device: str
    weights: str = ""


def value_facts(run: Run, model: nn.Module) -> ValueFacts:
    """Look at every weight of a run's model."""
    seed = None if run.weights else run.seed
    values = weight_values(model)
    return ValueFacts(values, seed, run.config.initialization, run.device, run.weights)


def weight_values(model: nn.Module) -> WeightValues:
    """Every parameter of a model by its kind; a table that is tied comes once."""
    mixers = [path for path, each in model.named_modules() if isinstance(each, MIXER_TYPES)]
    parameters = ((path, found.detach()) for path, found in model.named_parameters())
    return values_by_kind(parameters, mixers=mixers)


def values_by_kind(
    parameters: Iterable[tuple[str, Tensor]], *, mixers: Sequence[str] = ()
) -> WeightValues:
    """Parameters of one of our models, by their names, on one device.

    `mixers`: the paths of modules that stand in the place of attention.

    Two passes over the weights: first moments, then bins from `REACH` standard deviations below
    the mean to as many above it, or to the least and largest value where these are nearer. After
    each pass small numbers cross to the host.
    """
    groups = _by_kind(parameters, tuple(f"{path}." for path in mixers))
    moments = pd.DataFrame([_moments(tensors) for tensors in groups.values()])
    moments.insert(0, "kind", [str(kind) for kind in groups])
    edges = [_edges(row) for _i, row in moments.iterrows()]
    counts = torch.stack(
        [_counts(tensors, found) for tensors, found in zip(groups.values(), edges, strict=True)]
    )
    binned = counts.cpu().numpy()
    moments["outside"] = moments["count"] - binned.sum(axis=1)
    shares = binned / moments["count"].to_numpy()[:, None]
    return WeightValues(moments, _bins(moments["kind"].tolist(), edges, shares))


def kind_of_parameter(path: str) -> Kind:
    """What a parameter is there for, told from the modules in which it stands."""
    names = path.split(".")[:-1]
    if names[0] == "mtp":
        return Kind.MTP
    if names[-1].endswith("norm"):
        return Kind.NORM
    return next(OF_MODULES[name] for name in reversed(names) if name in OF_MODULES)


def _by_kind(
    parameters: Iterable[tuple[str, Tensor]], mixers: tuple[str, ...]
) -> dict[Kind, list[Tensor]]:
    found: dict[Kind, list[Tensor]] = {kind: [] for kind in Kind}
    for path, tensor in parameters:
        kind = kind_of_parameter(path)
        is_of_mixer = kind is Kind.ATTENTION and path.startswith(mixers)
        found[Kind.MIXER if is_of_mixer else kind].append(tensor)
    return {kind: tensors for kind, tensors in found.items() if tensors}


def _pieces(tensors: Sequence[Tensor]) -> Iterator[Tensor]:
    """Flat, in float32, none larger than `PIECE`."""
    for tensor in tensors:
        for piece in tensor.flatten().split(PIECE):
            yield piece.float()


def _moments(tensors: Sequence[Tensor]) -> dict[str, float]:
    """Of all values of some tensors; pieces are joined on the host in double precision.

    Chan, Golub and LeVeque 1983, eq. 2.1: variances of pieces and of their means add up.
    """
    sums = [
        torch.stack((*torch.var_mean(piece, correction=0), *torch.aminmax(piece)))
        for piece in _pieces(tensors)
    ]
    var, mean, least, most = torch.stack(sums).cpu().double().numpy().T
    sizes = np.array([len(piece) for t in tensors for piece in t.flatten().split(PIECE)])
    share = sizes / sizes.sum()
    middle = float((share * mean).sum())
    std = float((share * (var + (mean - middle) ** 2)).sum() ** 0.5)
    ends = {"min": float(least.min()), "max": float(most.max())}
    return {"count": int(sizes.sum()), "mean": middle, "std": std, **ends}


def _edges(row: pd.Series) -> tuple[float, float] | None:
    """Where the bins of a kind begin and end; around a single value half a unit.

    None where a value is no number: then there are no bins.
    """
    if not np.isfinite(row["std"]):
        return None
    least = max(row["min"], row["mean"] - REACH * row["std"])
    most = min(row["max"], row["mean"] + REACH * row["std"])
    return (least, most) if least < most else (row["min"] - 0.5, row["max"] + 0.5)


def _counts(tensors: Sequence[Tensor], edges: tuple[float, float] | None) -> Tensor:
    """How many values fall into each of the bins: (N_BINS,), whole numbers, on the device."""
    total = torch.zeros(N_BINS, dtype=torch.int64, device=tensors[0].device)
    if edges is None:
        return total
    for piece in _pieces(tensors):
        total += torch.histc(piece, N_BINS, *edges).long()
    return total


def _bins(
    kinds: Sequence[str], edges: Sequence[tuple[float, float] | None], shares: NDArray[np.float64]
) -> pd.DataFrame:
    tables = []
    for kind, found, of_kind in zip(kinds, edges, shares, strict=True):
        least, most = found or (0.0, 1.0)
        centres = least + (np.arange(N_BINS) + 0.5) * (most - least) / N_BINS
        tables.append(pd.DataFrame({"kind": kind, "value": centres, "share": of_kind}))
    return pd.concat(tables, ignore_index=True)
