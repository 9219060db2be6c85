"""The bend of the feed-forward layer, its slope, and where this run's units stand on it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from pages.figures.theme import (
    BEFORE,
    FEED_FORWARD,
    MASKED,
    TITLE_AND_LEGEND,
    Picture,
    Translate,
    faint,
    figure,
    legend,
)

DASHES = ("dot", "dash", "longdash", "dashdot", "longdashdot")
ROWS = {"value": [0.64, 1.0], "slope": [0.3, 0.56], "share": [0.0, 0.22]}
HEIGHT, BOTTOM, FLAT = 560, 48, 0.01


def bends(
    curves: pd.DataFrame,
    groups: Sequence[tuple[str, str]],
    spread: pd.DataFrame,
    *,
    chosen: str,
    _: Translate,
) -> Picture:
    """φ, φ′ and the pre-activations over one x axis: the chosen kind strong, the others faint.

    `curves`: activation, z, value, slope; `groups`: a kind for each curve to draw and its name;
    `spread`: value, share. Where |φ′| < 0.01 of the chosen kind the ground is grey.
    """
    reach = float(curves["z"].max())
    others = [group for group in groups if group[0] != chosen]
    drawn = [
        *((kind, name, DASHES[i % len(DASHES)]) for i, (kind, name) in enumerate(others)),
        *((kind, name, "") for kind, name in groups if kind == chosen),
    ]
    traces = [
        _line(curves[curves["activation"] == kind], column, name, dash)
        for column in ("value", "slope")
        for kind, name, dash in drawn
    ]
    own = curves[curves["activation"] == chosen]
    x = {"range": [-reach, reach], "fixedrange": True}
    return figure(
        [*traces, _bars(spread, _)],
        title=_("Activation function, its slope, and the inputs of this run"),
        height=HEIGHT,
        margin=(TITLE_AND_LEGEND + 18, BOTTOM),
        bargap=0,
        **legend(),
        xaxis={**x, "anchor": "y3", "title": {"text": _("z, the input of the activation")}},
        yaxis=_rows("value", "φ(z)", range=[-0.7, max(2.0, 0.7 * reach)]),
        yaxis2=_rows("slope", "φ′(z)", range=[-0.25, 2.1], dtick=1),
        yaxis3=_rows("share", _("share"), tickformat=".0%", rangemode="tozero", nticks=3),
        shapes=_flat_ground(own),
    )


def _rows(name: str, title: str, **more: Any) -> dict[str, Any]:
    place = {"domain": ROWS[name], "fixedrange": True, "anchor": "x"}
    return {**place, "title": {"text": title}, **more}


def _line(curve: pd.DataFrame, column: str, name: str, dash: str) -> dict[str, Any]:
    is_chosen = not dash
    line = {"color": FEED_FORWARD, "width": 3.5} if is_chosen else {"color": faint_grey()}
    return {
        "type": "scatter",
        "mode": "lines",
        "x": curve["z"].to_numpy("float32"),
        "y": curve[column].to_numpy("float32"),
        "name": name,
        "legendgroup": name,
        "showlegend": column == "value",
        "line": line if is_chosen else {**line, "width": 1.5, "dash": dash},
        "yaxis": "y" if column == "value" else "y2",
        "hovertemplate": f"{name}: %{{y:.3f}} (z = %{{x:.2f}})<extra></extra>",
    }


def faint_grey() -> str:
    """What stands behind what was chosen."""
    return faint(BEFORE, 0.75)


def _bars(spread: pd.DataFrame, _: Translate) -> dict[str, Any]:
    return {
        "type": "bar",
        "x": spread["value"].to_numpy("float32"),
        "y": spread["share"].to_numpy("float32"),
        "yaxis": "y3",
        "showlegend": False,
        "marker": {"color": FEED_FORWARD, "line": {"width": 0}},
        "hovertemplate": _("about {value}: {share} of all pre-activations").format(
            value="%{x:.2f}", share="%{y:.2%}"
        )
        + "<extra></extra>",
    }


def _flat_ground(own: pd.DataFrame) -> list[dict[str, Any]]:
    """A grey ground over every stretch where the chosen kind passes hardly any gradient.

    Where the slope only crosses zero there is none.
    """
    z, slope = own["z"].to_numpy(), own["slope"].to_numpy()
    is_flat = np.abs(slope) < FLAT
    edges = [i for i in range(1, len(z)) if is_flat[i] != is_flat[i - 1]]
    starts = [0, *edges]
    stretches = zip(starts, [*edges, len(z) - 1], strict=True)
    return [
        {
            "type": "rect",
            "x0": float(z[start]),
            "x1": float(z[end]),
            "y0": 0,
            "y1": 1,
            "yref": "paper",
            "fillcolor": MASKED,
            "line": {"width": 0},
            "layer": "below",
        }
        for start, end in stretches
        if is_flat[start] and not slope[max(0, start - 1)] * slope[end] < -(FLAT**2)
    ]
