"""The units of a feed-forward layer: how often each is active, and at which tokens most."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from blocks.inspection.activations import RELU_KINDS, is_off, is_saturated
from blocks.inspection.wide import Place, SeenLayer, Wide
from blocks.model.kinds import Activation

N_STRONGEST, N_TOKENS, NEAR = 14, 10, 0.5


@dataclass(frozen=True, eq=False)
class UnitFacts:
    """How often the units of a layer are active, and which of them are shown.

    `units`: a row per unit (see `frame`); `off_is_zero`: whether an output of exactly 0 is meant by
    off; `shown`: the strongest units at a token; `selected`: the one that is looked at.
    """

    place: Place
    off_is_zero: bool
    units: pd.DataFrame
    shown: tuple[int, ...]
    selected: int

    @property
    def n_dead(self) -> int:
        """Units that are off at every token."""
        return int(self.units["is_dead"].sum())

    @property
    def dead_share(self) -> float:
        """The same as a share of all units."""
        return self.n_dead / len(self.units)

    @property
    def n_saturated(self) -> int:
        """Units that are saturated at every token."""
        return int(self.units["is_saturated"].sum())

    @property
    def n_silent(self) -> int:
        """Units that are active at no token."""
        return int((self.units["active_share"] == 0).sum())

    @property
    def median_active(self) -> float:
        """The share of tokens at which the median unit is active."""
        return float(self.units["active_share"].median())


class LayerUnits(NamedTuple):
    """Shares of a layer: of its units dead, and saturated; of all its values active."""

    layer: int
    dead: float
    saturated: float
    active: float


@dataclass(frozen=True)
class LayersFacts:
    """The units of several layers, of which one is selected."""

    layers: tuple[LayerUnits, ...]
    selected: int


@dataclass(frozen=True, eq=False)
class UnitTokens:
    """One unit, and the strongest units beside it, at the tokens of the first sequence.

    `hidden`: (unit, token), of `units` at the tokens `numbers`, which are called `labels`.
    """

    unit: int
    pinned: int
    active_share: float
    saturated_share: float
    units: tuple[int, ...]
    numbers: tuple[int, ...]
    labels: tuple[str, ...]
    hidden: NDArray[np.float32]

    @property
    def strongest(self) -> pd.DataFrame:
        """The tokens at which |hidden| of the unit is largest: number, label, hidden."""
        hidden = self.hidden[self.units.index(self.unit)]
        table = pd.DataFrame({"number": self.numbers, "label": self.labels, "hidden": hidden})
        largest = table["hidden"].abs().nlargest(N_TOKENS).index
        return table.loc[largest].reset_index(drop=True)

    @property
    def near(self) -> pd.DataFrame:
        """Those of them with at least half of the largest size."""
        sizes = self.strongest["hidden"].abs()
        return self.strongest[sizes >= NEAR * sizes.max()]


@dataclass(frozen=True, eq=False)
class GateFacts:
    """What multiplies in the strongest units of a token, and how many units are off.

    `strongest`: unit, pre, gate, up, hidden, no row where the token was sent elsewhere; `off`: the
    share of all pairs of a token and a unit; `off_shares`: at each of the tokens `numbers`, which
    are called `labels`.
    """

    place: Place
    is_gated: bool
    token: int
    token_label: str
    selected: int
    strongest: pd.DataFrame
    off: float
    off_shares: tuple[float, ...]
    numbers: tuple[int, ...]
    labels: tuple[str, ...]


def gate_facts(seen: SeenLayer, expert: int, token: int, unit: int) -> GateFacts:
    """The strongest units at a token in an expert, or in the dense layer (expert 0)."""
    activation = seen.run.config.feed_forward.activation
    numbers, labels = seen.given(expert), seen.run.input.labels
    shares = closed_share(seen.inside[expert], activation)
    off, *off_shares = torch.cat((shares.mean()[None], shares[: len(numbers)])).tolist()
    return GateFacts(
        place=seen.place(expert),
        is_gated=activation.is_gated,
        token=token,
        token_label=labels[token],
        selected=unit,
        strongest=strongest_at(seen, expert, token),
        off=off,
        off_shares=tuple(off_shares),
        numbers=numbers,
        labels=tuple(labels[number] for number in numbers),
    )


def unit_facts(seen: SeenLayer, expert: int, token: int, unit: int) -> UnitFacts:
    """The units of an expert, or of the dense layer (expert 0)."""
    activation = seen.run.config.feed_forward.activation
    return UnitFacts(
        place=seen.place(expert),
        off_is_zero=activation in RELU_KINDS,
        units=frame(seen.inside[expert], activation),
        shown=shown_units(seen, expert, token),
        selected=unit,
    )


def unit_tokens(seen: SeenLayer, expert: int, token: int, unit: int) -> UnitTokens:
    """Where one unit is active, and the strongest units at a token beside it."""
    numbers, labels = seen.given(expert), seen.run.input.labels
    row = frame(seen.inside[expert], seen.run.config.feed_forward.activation).iloc[unit]
    strongest = shown_units(seen, expert, token)
    shown = strongest if unit in strongest else (*strongest, unit)
    return UnitTokens(
        unit=unit,
        pinned=token,
        active_share=float(row["active_share"]),
        saturated_share=float(row["flat_share"]),
        units=shown,
        numbers=numbers,
        labels=tuple(labels[number] for number in numbers),
        hidden=at_tokens(seen.inside[expert], shown)[:, : len(numbers)],
    )


def shown_units(seen: SeenLayer, expert: int, token: int) -> tuple[int, ...]:
    """The strongest units at a token; of an expert that it was not sent to, the busiest."""
    table = strongest_at(seen, expert, token)
    if table.empty:
        everyone = frame(seen.inside[expert], seen.run.config.feed_forward.activation)
        table = everyone.nlargest(N_STRONGEST, "mean_size")
    return tuple(int(unit) for unit in table["unit"])


def strongest_at(seen: SeenLayer, expert: int, token: int) -> pd.DataFrame:
    """The strongest units at a token (see `strongest`); none where it was sent elsewhere."""
    given = seen.given(expert)
    if token not in given:
        return pd.DataFrame(columns=["unit", "pre", "gate", "up", "hidden"])
    return strongest(seen.inside[expert], given.index(token), N_STRONGEST)


def units_of_layer(seen: SeenLayer) -> LayerUnits:
    """How many units of a layer are dead or saturated, and how often one is active."""
    shares = layer_shares(seen.inside, seen.run.config.feed_forward.activation)
    return LayerUnits(seen.layer, **shares)


def frame(wide: Wide, activation: Activation) -> pd.DataFrame:
    """One row per unit, over the tokens that the layer was given.

    Columns: unit; the share of tokens at which it is active (active_share: z > 0), off (off_share)
    or saturated (flat_share: see `inspection.activations`); mean_size (mean |hidden|); is_dead and
    is_saturated (off, or saturated, at every token).
    """
    n = max(1, len(wide.token))
    active = (wide.pre > 0).sum(0) / n
    off = is_off(activation, wide.pre).sum(0) / n
    flat = is_saturated(activation, wide.pre).sum(0) / n
    size = wide.hidden.float().abs().sum(0) / n
    table = pd.DataFrame(
        torch.stack((active, off, flat, size), 1).cpu().numpy(),
        columns=["active_share", "off_share", "flat_share", "mean_size"],
    )
    table.insert(0, "unit", range(len(table)))
    table["is_dead"] = (table["off_share"] == 1) | (len(wide.token) == 0)
    table["is_saturated"] = table["flat_share"] == 1
    return table


def layer_shares(wides: Sequence[Wide], activation: Activation) -> dict[str, float]:
    """Of all units of a layer, experts together: dead, saturated; and how often one is active."""
    table = pd.concat([frame(wide, activation) for wide in wides])
    n_values = sum(wide.pre.numel() for wide in wides)
    n_active = sum(int((wide.pre > 0).sum()) for wide in wides)
    return {
        "dead": float(table["is_dead"].mean()),
        "saturated": float(table["is_saturated"].mean()),
        "active": n_active / max(1, n_values),
    }


def strongest(wide: Wide, row: int, n: int) -> pd.DataFrame:
    """The units with the largest |hidden| at one token (row of `wide`), the largest first.

    Columns: unit, pre, gate (1 where there is no gate), up, hidden.
    """
    hidden = wide.hidden[row].float()
    unit = hidden.abs().topk(min(n, len(hidden))).indices
    gate = torch.ones_like(hidden) if wide.gate is None else wide.gate[row]
    columns = [each[unit].float() for each in (wide.pre[row], gate, wide.up[row], hidden)]
    numbers = torch.stack(columns, 1).cpu().numpy()
    table = pd.DataFrame(numbers, columns=["pre", "gate", "up", "hidden"])
    table.insert(0, "unit", unit.cpu().numpy())
    return table


def at_tokens(wide: Wide, units: Sequence[int]) -> NDArray[np.float32]:
    """`hidden` of some units at all tokens of the layer: (len(units), n)."""
    chosen = torch.tensor(list(units), device=wide.hidden.device, dtype=torch.long)
    return wide.hidden[:, chosen].T.float().cpu().numpy()


def closed_share(wide: Wide, activation: Activation) -> Tensor:
    """The share of units that are off, at each token: (n,)."""
    return is_off(activation, wide.pre).float().mean(dim=1)
