"""A layer three ways: the sum of the estimates, of the measured parts, and measured whole."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from pages.figures.theme import (
    BEFORE,
    PART_COLORS,
    RESIDUAL,
    TITLE_AND_LEGEND,
    Picture,
    Translate,
    figure,
    legend,
)

ROW, BOTTOM = 52, 48


def sums(
    parts: pd.DataFrame,
    groups: Mapping[str, str],
    rows: Sequence[str],
    whole: float,
    *,
    title: str,
    _: Translate,
) -> Picture:
    """Stacked bars of milliseconds by group, and below them one for the whole.

    `parts`: row, group, ms; `rows`: what the rows are called, the last one that of the whole.
    """
    totals = [*(parts.loc[parts["row"] == row, "ms"].sum() for row in rows[:-1]), whole]
    bars = [_bar(parts[parts["group"] == group], group, name) for group, name in groups.items()]
    return figure(
        [*bars, _whole(rows[-1], whole), _ends(rows, totals)],
        title=title,
        height=TITLE_AND_LEGEND + BOTTOM + ROW * len(rows),
        margin=(TITLE_AND_LEGEND, BOTTOM),
        **legend(),
        barmode="stack",
        bargap=0.35,
        xaxis={
            "title": {"text": _("milliseconds")},
            "range": [0, 1.25 * max(totals)],
            "fixedrange": True,
        },
        yaxis={
            "categoryorder": "array",
            "categoryarray": list(rows)[::-1],
            "fixedrange": True,
        },
    )


def _bar(rows: pd.DataFrame, group: str, name: str) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "x": rows["ms"].tolist(),
        "y": rows["row"].tolist(),
        "name": name,
        "marker": {"color": PART_COLORS[group]},
        "hovertemplate": "%{x:.3~g} ms<extra>" + name + "</extra>",
    }


def _whole(row: str, whole: float) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "x": [whole],
        "y": [row],
        "showlegend": False,
        "marker": {"color": BEFORE, "line": {"color": RESIDUAL, "width": 2}},
        "hovertemplate": "%{x:.3~g} ms<extra></extra>",
    }


def _ends(rows: Sequence[str], totals: Sequence[float]) -> dict[str, Any]:
    """How long each is, written at its end."""
    return {
        "type": "scatter",
        "mode": "text",
        "x": list(totals),
        "y": list(rows),
        "text": [f" {total:,.0f} ms" if total >= 100 else f" {total:.3g} ms" for total in totals],
        "textposition": "middle right",
        "hoverinfo": "skip",
        "showlegend": False,
    }
