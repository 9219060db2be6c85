"""Two runs, A and B, on the same text: what passes through their layers, and what heads read."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from blocks.inspection.head_facts import Window, window

Array = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class TwoFlows:
    """One statistic of one stage over the layers of A and of B: layer (0: what goes in), value."""

    stage: str
    moment: str
    a: pd.DataFrame
    b: pd.DataFrame

    @property
    def both(self) -> pd.DataFrame:
        """The layers that both have: layer, value_a, value_b."""
        return self.a.merge(self.b, on="layer", suffixes=("_a", "_b"))

    @property
    def furthest(self) -> int:
        """The layer at which they lie furthest apart."""
        both = self.both
        return int(both["layer"].iloc[(both["value_b"] - both["value_a"]).abs().argmax()])

    @property
    def n_layers(self) -> tuple[int, int]:
        """Layers of A and of B."""
        return int(self.a["layer"].max()), int(self.b["layer"].max())


def over_layers(flow: pd.DataFrame, stage: str, moment: str, stack: str = "") -> pd.DataFrame:
    """One statistic of one stage in every layer: layer (from 1; 0 is what goes in), value.

    `flow`: of a whole model (`Recording.flow`); `stack`: the half of an encoder–decoder.
    """
    if "stack" in flow:
        flow = flow[flow["stack"] == stack]
    rows = flow[(flow["stage"] == stage) & flow["layer"].notna()]
    layers, values = [*(rows["layer"] + 1)], [*rows[moment]]
    if stage == "resid_post":
        first = flow[(flow["stage"] == "resid_pre") & (flow["layer"] == 0)][moment]
        layers, values = [*(0 for _value in first), *layers], [*first, *values]
    return pd.DataFrame({"layer": layers, "value": values}).astype({"layer": int, "value": float})


@dataclass(frozen=True)
class RunNumbers:
    """A run in numbers: RMS of the stream at its end, its growth, mean entropy of the heads."""

    end: float
    growth: float
    entropy_bits: float


@dataclass(frozen=True, eq=False)
class HeadDistances:
    """How far apart heads of A and B lie, over `n_queries` (see `pattern_distance`).

    `alike`: of the same number, (layer, head); `each`: (head of A, head of B) of one `layer`.
    """

    layer: int
    n_queries: int
    alike: Array
    each: Array

    @property
    def mean(self) -> float:
        """The mean distance of heads with the same number."""
        return float(self.alike.mean())

    @property
    def furthest(self) -> tuple[int, int]:
        """Layer and head that lie furthest apart."""
        layer, head = np.unravel_index(self.alike.argmax(), self.alike.shape)
        return int(layer), int(head)

    @property
    def largest(self) -> float:
        """How far apart those two lie."""
        return float(self.alike.max())

    @property
    def n_nearest_alike(self) -> int:
        """Heads of A in the layer whose nearest head of B has the same number."""
        nearest = self.each.argmin(axis=1)
        return int((nearest == np.arange(len(nearest))).sum())


@dataclass(frozen=True, eq=False)
class OneHead:
    """What a head of one run reads: a code (see `tiles`) and a weight a cell, NaN where masked."""

    labels: tuple[str, ...]
    codes: NDArray[np.uint8]
    weights: Array

    def drawn(self, token: int, most: int) -> Window:
        """Up to `most` tokens around one."""
        return window(len(self.labels), token, most)

    def most_read(self, token: int) -> tuple[str, float]:
        """The key on which a token puts most of its weight, and this."""
        key = int(np.nanargmax(self.weights[token]))
        return self.labels[key], float(self.weights[token, key])


@dataclass(frozen=True, eq=False)
class TwoHeads:
    """The same head of A and of B, and the pinned token; `distance` over all comparable queries."""

    a: OneHead
    b: OneHead
    token: int
    distance: float

    @property
    def is_blind(self) -> bool:
        """Whether the token may attend to no key in one of them."""
        return any(bool(np.isnan(each.weights[self.token]).all()) for each in (self.a, self.b))

    @property
    def reads_the_same(self) -> bool:
        """Whether both read the same tokens."""
        return self.a.labels == self.b.labels

    @property
    def difference(self) -> Array:
        """B − A at every cell; NaN where both are masked, 0 for the weight of one that is."""
        a, b = self.a.weights, self.b.weights
        return np.where(np.isnan(a) & np.isnan(b), np.nan, np.nan_to_num(b) - np.nan_to_num(a))

    @property
    def moved(self) -> float:
        """The share of the token's weight that lies on other keys."""
        return float(np.abs(np.nan_to_num(self.difference[self.token])).sum() / 2)
