"""Where attention between tokens overtakes the products with weights, on logarithmic axes."""

import math
from typing import Any

import pandas as pd

from pages.figures.size_axis import half_of_last, log_sizes
from pages.figures.theme import (
    ATTENTION,
    FEED_FORWARD,
    PINNED,
    RESIDUAL,
    TITLE_AND_LEGEND,
    Picture,
    Translate,
    figure,
    legend,
)

HEIGHT, BOTTOM = 400, 48
ROOM = 20  # for a second line of the legend


def crossing(table: pd.DataFrame, at: float, n: int, *, _: Translate) -> Picture:
    """FLOPs of one layer against n: with weights, between tokens; where they cross, and the reader.

    `table`: n, weights, pairs; `at`: the length where both are equal.
    """
    unit = _("FLOPs")
    slope = float(table["weights"].iloc[0]) / float(table["n"].iloc[0])
    lines = [
        _line(table, "weights", _("products with weights, ~ n"), FEED_FORWARD, "solid", unit),
        _line(table, "pairs", _("between tokens, ~ n²"), ATTENTION, "dash", unit),
        _mark(at, slope * at, _("equal at n = {n:,.0f}").format(n=at), RESIDUAL, "diamond", unit),
    ]
    lines[-1]["textposition"] = f"top {_free_side(at, table)}"
    own = table[table["n"] == n].iloc[0]
    lines.append(
        {
            **_mark(
                n,
                float(own["weights"]),
                _("your n = {n:,}").format(n=n),
                PINNED,
                "circle-open",
                unit,
            ),
            "x": [n, n],
            "y": [float(own["weights"]), float(own["pairs"])],
            "mode": "markers+lines",
            "showlegend": True,
            "line": {"color": PINNED, "width": 1.5, "dash": "dot"},
        }
    )
    ticks = table["n"].tolist()
    ticks = [tick for tick in ticks if tick & (tick - 1) == 0]
    ticks = ticks[:: max(1, len(ticks) // 7)]
    return figure(
        lines,
        title=_("Forward FLOPs of one layer against length"),
        height=HEIGHT,
        margin=(TITLE_AND_LEGEND + ROOM, BOTTOM),
        right=half_of_last(ticks),
        **legend(),
        xaxis=log_sizes(_("n · tokens (logarithmic)"), ticks),
        yaxis={
            "title": {"text": _("FLOPs (logarithmic)")},
            "type": "log",
            "tickformat": "~s",
            "dtick": 2,
            "fixedrange": True,
        },
    )


def _free_side(n: float, table: pd.DataFrame) -> str:
    """Where words beside this length have room."""
    least, most = (math.log(float(edge)) for edge in (table["n"].min(), table["n"].max()))
    return "left" if 2 * math.log(n) > least + most else "right"


def _line(
    table: pd.DataFrame, column: str, name: str, color: str, dash: str, unit: str
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": table["n"].tolist(),
        "y": table[column].tolist(),
        "line": {"color": color, "width": 3, "dash": dash},
        "hovertemplate": f"n = %{{x:,}}: %{{y:.4~s}}{unit}<extra>{name}</extra>",
    }


def _mark(x: float, y: float, name: str, color: str, symbol: str, unit: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": name,
        "showlegend": False,
        "text": [f"  {name}  "],
        "textposition": "top left",
        "x": [x],
        "y": [y],
        "marker": {
            "symbol": symbol,
            "size": 12,
            "color": color,
            "line": {"width": 2, "color": color},
        },
        "hovertemplate": f"n = %{{x:,.0f}}: %{{y:.4~s}}{unit}<extra></extra>",
    }
