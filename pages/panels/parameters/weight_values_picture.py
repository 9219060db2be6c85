"""How weights are spread: a panel for each kind, each on its own scale, mean and σ marked."""

from typing import Any

import pandas as pd

from pages.figures.breakdown import KIND_COLORS
from pages.figures.theme import BEFORE, EDGE, TITLE, Picture, Translate, faint, figure, plain

PANEL, GAP = 96, 62


def panels(bins: pd.DataFrame, moments: pd.DataFrame, *, _: Translate) -> Picture:
    """Histograms below each other. `bins`: kind, value, share; `moments`: kind, label, mean, std.

    The dotted lines are one standard deviation from the mean (solid).
    """
    drawn = moments.dropna(subset=["mean"]).reset_index(drop=True)
    n = max(1, len(drawn))
    height = n * (PANEL + GAP)
    traces, shapes, notes = [], [], []
    layout: dict[str, Any] = {}
    for i, (_index, row) in enumerate(drawn.iterrows()):
        axis = "" if i == 0 else str(i + 1)
        top = 1 - (i * (PANEL + GAP) + 24) / height
        layout |= _axes(axis, top, top - (PANEL - 0) / height, _)
        found = bins[bins["kind"] == row["kind"]]
        traces.append(_bars(found, row, axis, _))
        shapes += _marks(row, axis)
        notes.append(_label(row, top))
    return figure(
        traces,
        title=_("Distribution of the weights, by kind"),
        height=TITLE + height + EDGE,
        margin=(TITLE, EDGE),
        bargap=0,
        shapes=shapes,
        annotations=notes,
        **layout,
    )


def _axes(axis: str, top: float, bottom: float, _: Translate) -> dict[str, Any]:
    return {
        f"xaxis{axis}": {
            "anchor": f"y{axis}",
            "domain": [0, 1],
            "nticks": 7,
            "tickangle": 0,
            "zeroline": False,
            "fixedrange": True,
        },
        f"yaxis{axis}": {
            "anchor": f"x{axis}",
            "domain": [max(0.0, bottom), top],
            "tickformat": ".1~%",
            "nticks": 3,
            "rangemode": "tozero",
            "fixedrange": True,
        },
    }


def _bars(found: pd.DataFrame, row: pd.Series, axis: str, _: Translate) -> dict[str, Any]:
    text = _("{kind}, about {value}: {share} of its values")
    said = text.format(kind=plain(row["label"]), value="%{x:.4g}", share="%{y:.2%}")
    color = KIND_COLORS[row["kind"]]
    return {
        "type": "bar",
        "x": found["value"].tolist(),
        "y": found["share"].tolist(),
        "xaxis": f"x{axis}",
        "yaxis": f"y{axis}",
        "marker": {"color": faint(color, 0.75), "line": {"width": 0}},
        "hovertemplate": said + "<extra></extra>",
    }


def _marks(row: pd.Series, axis: str) -> list[dict[str, Any]]:
    """Lines at the mean, and one standard deviation to either side."""
    places = ((row["mean"], "solid"), (row["mean"] - row["std"], "dot"))
    return [
        {
            "type": "line",
            "x0": x,
            "x1": x,
            "y0": 0,
            "y1": 1,
            "xref": f"x{axis}",
            "yref": f"y{axis} domain",
            "line": {"color": BEFORE, "width": 1.5, "dash": dash},
        }
        for x, dash in (*places, (row["mean"] + row["std"], "dot"))
    ]


def _label(row: pd.Series, top: float) -> dict[str, Any]:
    said = f"<b>{plain(row['label'])}</b> · {row['mean']:.3g} ± {row['std']:.3g}"
    place = {"x": 0, "xref": "paper", "xanchor": "left", "y": top, "yref": "paper"}
    return {**place, "yanchor": "bottom", "text": said, "showarrow": False}
