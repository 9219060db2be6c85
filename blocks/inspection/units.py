"""The units of a feed-forward layer: how often each is active, and at which tokens most."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from blocks.inspection.activations import is_off, is_saturated
from blocks.inspection.wide import Wide
from blocks.model.kinds import Activation


def frame(wide: Wide, activation: Activation) -> pd.DataFrame:
    """One row a unit, over the tokens that the layer was given.

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
