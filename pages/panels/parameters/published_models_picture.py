"""Published models by size: a dot a model on a logarithmic axis, and the reader's own."""

import math
from typing import Any

import pandas as pd

from pages.figures.table_rows import each_row
from pages.figures.theme import (
    ATTENTION,
    BEFORE,
    EMBEDDING,
    FEED_FORWARD,
    PINNED,
    TITLE,
    Picture,
    Translate,
    figure,
    legend,
    plain,
)

ROW, BOTTOM, ABOVE = 24, 50, 66  # two lines of a legend, and the word above the line
COLORS = {"gpt": ATTENTION, "encoder": FEED_FORWARD, "encoder-decoder": EMBEDDING}


def dots(
    table: pd.DataFrame, names: dict[str, str], *, own: int, own_label: str, _: Translate
) -> Picture:
    """A row a model, the smallest at the top, coloured by architecture.

    `table`: name, title, architecture, total, active. What a token meets of a mixture of experts
    is a hollow dot. `names` of architectures; `own`: the reader's own number, drawn as a line.
    """
    middle = math.sqrt(int(table["total"].min()) * int(table["total"].max()))
    traces = [
        _named(table[table["architecture"] == kind], kind, plain(label), middle)
        for kind, label in names.items()
    ]
    sparse = table[table["active"] < table["total"]]
    if len(sparse):
        traces.append(_active(sparse, _))
    least, most = min(table["active"].min(), own), max(table["total"].max(), own)
    plot = ROW * len(table)
    line = {"color": PINNED, "width": 2, "dash": "dash"}
    place = {"x0": float(own), "x1": float(own), "y0": -0.7, "y1": len(table) - 0.3}
    note = {
        "x": math.log10(max(1, own)),
        "y": 1,
        "yref": "paper",
        "yanchor": "bottom",
        "text": plain(own_label),
        "showarrow": False,
        "font": {"color": PINNED, "size": 12},
    }
    return figure(
        traces,
        title=_("Published models, and yours"),
        height=TITLE + ABOVE + BOTTOM + ROW * len(table),
        margin=(TITLE + ABOVE, BOTTOM),
        **{**legend(), "legend": {**legend()["legend"], "y": 1 + 20 / plot}},
        xaxis={
            "title": {"text": _("parameters (logarithmic)")},
            "type": "log",
            "range": [math.log10(max(1, least)) - 0.25, math.log10(max(1, most)) + 0.35],
            "exponentformat": "B",
            "dtick": 1,
            "tickangle": 0,
            "fixedrange": True,
        },
        yaxis={"visible": False, "range": [len(table) - 0.3, -0.7], "fixedrange": True},
        shapes=[{"type": "line", **place, "line": line, "layer": "below"}] if own else [],
        annotations=[note] if own else [],
    )


def _named(rows: pd.DataFrame, kind: str, name: str, middle: float) -> dict[str, Any]:
    """Dots with the names of their models at the side where there is room."""
    is_right = (rows["total"] < middle) | (rows["active"] < rows["total"])
    sides = ["middle right" if right else "middle left" for right in is_right]
    return {
        **_dots(rows, "total", kind, name),
        "mode": "markers+text",
        "text": [f"  {plain(title)}  " for title in rows["title"]],
        "textposition": sides,
        "textfont": {"size": 11},
        "cliponaxis": False,
    }


def _dots(rows: pd.DataFrame, column: str, kind: str, name: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [int(n) for n in rows[column]],
        "y": rows.index.tolist(),
        "name": name,
        "marker": {"size": 11, "color": COLORS[kind]},
        "customdata": [[r.name_, plain(r.title)] for r in each_row(rows)],
        "hovertemplate": "<b>%{customdata[1]}</b><br>%{x:,}<extra></extra>",
    }


def _active(rows: pd.DataFrame, _: Translate) -> dict[str, Any]:
    marker = {"size": 10, "color": BEFORE, "symbol": "circle-open", "line": {"width": 2}}
    return {**_dots(rows, "active", "gpt", _("active per token")), "marker": marker}
