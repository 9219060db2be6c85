"""FLOPs of a step by operation: forward, back, and what is computed again."""

import math
from typing import Any

import pandas as pd

from pages.figures.bar_ends import bar_ends
from pages.figures.legend_below import AXIS, LEGEND_ROW, legend_below
from pages.figures.size_axis import half_of_last, log_sizes
from pages.figures.theme import (
    ATTENTION,
    FEED_FORWARD,
    PART_COLORS,
    PINNED,
    RESIDUAL,
    TITLE,
    TITLE_AND_LEGEND,
    Picture,
    Translate,
    faint,
    figure,
    legend,
    plain,
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


ROW = 30
LOOKS = {"forward": (1.0, ""), "backward": (0.5, ""), "recomputed": (0.3, "/")}


def operation_bars(table: pd.DataFrame, *, title: str, _: Translate) -> Picture:
    """One bar an operation, stacked by direction, with its FLOPs and share at the end.

    `table`: label, group, formula, forward, backward, recomputed, said (what stands at the end).
    """
    names = {
        "forward": _("forward"),
        "backward": _("backward"),
        "recomputed": _("recomputed"),
    }
    ways = [way for way in names if way == "forward" or table[way].any()]
    bars = [_bar(table, way, names[way], _) for way in ways]
    keys = [_key(way, names[way]) for way in ways] if len(ways) > 1 else []
    said = [f" {said}" for said in table["said"]]
    ends = bar_ends(table[ways].sum(axis=1).tolist(), table["label"].tolist(), said)
    return figure(
        [*bars, ends, *keys],
        title=title,
        height=TITLE + ROW * len(table) + AXIS + LEGEND_ROW * len(keys),
        margin=(TITLE, AXIS + LEGEND_ROW * len(keys)),
        **legend_below(ROW * len(table)),
        barmode="stack",
        bargap=0.3,
        xaxis={
            "title": {"text": _("FLOPs")},
            "range": [0, 1.5 * float(table[ways].sum(axis=1).max())],
            "tickformat": "~s",
            "nticks": 6,
            "fixedrange": True,
        },
        yaxis={"range": [len(table) - 0.4, -0.6], "fixedrange": True},
    )


def _bar(table: pd.DataFrame, way: str, name: str, _: Translate) -> dict[str, Any]:
    alpha, shape = LOOKS[way]
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "showlegend": False,
        "y": [plain(label) for label in table["label"]],
        "x": table[way].tolist(),
        "marker": {
            "color": [faint(PART_COLORS[group], alpha) for group in table["group"]],
            "pattern": {"shape": shape, "solidity": 0.4},
        },
        "customdata": table[["formula"]].values.tolist(),
        "hovertemplate": f"<b>%{{y}}</b> · {name}<br>"
        + "%{x:.4~s}"
        + _("FLOPs")
        + "<br>%{customdata[0]}<extra></extra>",
    }


def _key(way: str, name: str) -> dict[str, Any]:
    """What a shade means, whatever the colour."""
    alpha, shape = LOOKS[way]
    return {
        "type": "bar",
        "orientation": "h",
        "x": [None],
        "y": [None],
        "name": name,
        "showlegend": True,
        "marker": {
            "color": faint(RESIDUAL, alpha),
            "pattern": {"shape": shape, "solidity": 0.4},
        },
    }
