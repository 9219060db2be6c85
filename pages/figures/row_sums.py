"""What each row of weights adds up to, at its right, and the scale of the weights below them.

Both have pixels of their own: no width of a picture brings one upon the other.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pages.figures.token_axis import token_ticks

BAR_ROOM = 30  # pixels: the scale and its ticks


class RowSums(NamedTuple):
    """A trace that shows nothing but keeps its axis, and that axis, on which the sums stand."""

    trace: dict[str, Any]
    axis: dict[str, Any]


def row_sums(sums: np.ndarray, height: Sequence[float]) -> RowSums:
    """The sums as names of the rows; `height`: the range of the rows."""
    names = [f"Σ {total:.3f}" for total in sums]
    ticks = {**token_ticks(names, len(names)), "tickfont": {"size": 10 if len(sums) <= 32 else 7}}
    on_right = {
        "overlaying": "y",
        "side": "right",
        "range": height,
        "ticks": "",
        "ticklabelstandoff": 2,
    }
    nothing = {"type": "scatter", "x": [None], "y": [None], "yaxis": "y3", "hoverinfo": "skip"}
    return RowSums(nothing, {**ticks, **on_right})


def scaled_below(heatmap: dict[str, Any]) -> dict[str, Any]:
    """The map with the scale of its colours at the foot of the picture, as wide as the map."""
    bar = heatmap["colorbar"]
    place = {
        "orientation": "h",
        "x": 0.5,
        "len": 1,
        "y": 0,
        "yref": "container",
        "yanchor": "bottom",
    }
    named = {**bar["title"], "side": "right"}
    return {**heatmap, "colorbar": {**bar, **place, "ypad": 0, "title": named}}
