"""How weights are spread: a panel for each kind, each on its own scale, mean and σ marked."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

import pandas as pd

from blocks.inspection.weight_values import WeightValues
from pages.figures import marks, palette
from pages.figures.axes import plot_room
from pages.figures.described import SAID
from pages.figures.marks import dashed, upright
from pages.figures.table_rows import Row, each_row
from pages.figures.theme import Picture, Translate, faint, figure, plain

PANEL, GAP = 96, 62


def panels(values: WeightValues, names: Mapping[str, str], *, _: Translate) -> Picture:
    """Histograms below each other, one per kind; what is no number has none.

    The dotted lines are one standard deviation from the mean (solid).
    """
    drawn = [row for row in each_row(values.moments) if isfinite(row.std)]
    height = max(1, len(drawn)) * (PANEL + GAP)
    traces, shapes, notes = [], [], []
    layout: dict[str, Any] = {}
    for i, row in enumerate(drawn):
        axis = "" if i == 0 else str(i + 1)
        top = 1 - (i * (PANEL + GAP) + 24) / height
        layout |= _axes(axis, top, top - PANEL / height)
        bins = values.bins[values.bins["kind"] == row.kind]
        traces.append(_bars(bins, row, names[row.kind], axis, _))
        shapes += _marks(row, axis)
        notes.append(_label(row, names[row.kind], top))
    return figure(
        traces,
        title=_("Distribution of the weights, by kind"),
        **plot_room(height),
        bargap=0,
        shapes=shapes,
        annotations=notes,
        **layout,
    )


def _axes(axis: str, top: float, bottom: float) -> dict[str, Any]:
    return {
        f"xaxis{axis}": {
            "anchor": f"y{axis}",
            "domain": [0, 1],
            "nticks": 7,
            "tickangle": 0,
            "zeroline": False,
        },
        f"yaxis{axis}": {
            "anchor": f"x{axis}",
            "domain": [max(0.0, bottom), top],
            "tickformat": ".1~%",
            "nticks": 3,
            "rangemode": "tozero",
        },
    }


def _bars(bins: pd.DataFrame, row: Row, name: str, axis: str, _: Translate) -> dict[str, Any]:
    text = _("{kind}: {share} of the values are near {value}")
    hover = text.format(kind=plain(name), value="%{x:.4g}", share="%{y:.2%}")
    return marks.bars(
        bins["value"].tolist(),
        bins["share"].tolist(),
        xaxis=f"x{axis}",
        yaxis=f"y{axis}",
        marker={"color": faint(palette.KIND_COLORS[row.kind], 0.75), "line": {"width": 0}},
        hovertemplate=hover + "<extra></extra>",
        meta={SAID: [f"{name}: {_spread(row)}"]},
    )


def _spread(row: Row) -> str:
    return f"{row.mean:.3g} ± {row.std:.3g}"


def _marks(row: Row, axis: str) -> list[dict[str, Any]]:
    """Lines at the mean, and one standard deviation to either side."""
    places = ((row.mean, "solid"), (row.mean - row.std, "dot"), (row.mean + row.std, "dot"))
    return [
        {**upright(x, xref=f"x{axis}", yref=f"y{axis} domain"), "line": dashed(dash=dash)}
        for x, dash in places
    ]


def _label(row: Row, name: str, top: float) -> dict[str, Any]:
    said = f"<b>{plain(name)}</b> · {_spread(row)}"
    place = {"x": 0, "xref": "paper", "xanchor": "left", "y": top, "yref": "paper"}
    return {**place, "yanchor": "bottom", "text": said}
