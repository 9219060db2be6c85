"""FLOPs of a step by operation: forward, back, and what is computed again."""

from typing import Any

import pandas as pd

from pages.figures.bar_ends import bar_ends
from pages.figures.legend_below import AXIS, LEGEND_ROW, legend_below
from pages.figures.theme import (
    PART_COLORS,
    RESIDUAL,
    TITLE,
    Picture,
    Translate,
    faint,
    figure,
    plain,
)

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
    ends = bar_ends(table[ways].sum(axis=1).tolist(), table["label"], said)
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
