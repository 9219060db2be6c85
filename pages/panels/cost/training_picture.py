"""What a training takes: from the rule to the exact count, and hours on each device."""

import math
from typing import Any

import pandas as pd

from pages.figures.table_rows import each_row
from pages.figures.theme import (
    ATTENTION,
    BEFORE,
    PINNED,
    RESIDUAL,
    TITLE,
    Picture,
    Translate,
    figure,
    plain,
)

ROW, AXIS = 34, 56
DAY, YEAR = 24, 24 * 365.25  # hours


def waterfall(table: pd.DataFrame, *, _: Translate) -> Picture:
    """The rule, what is added to it or taken off, and the exact count.

    `table`: label, measure ("absolute", "relative" or "total"), flops, said.
    """
    sums, running = [], 0.0
    for row in each_row(table):
        running = (
            row.flops
            if row.measure == "absolute"
            else running + (row.flops if row.measure == "relative" else 0)
        )
        sums.append(max(running, running - row.flops) if row.measure == "relative" else running)
    bars = {
        "type": "waterfall",
        "orientation": "h",
        "y": [plain(label) for label in table["label"]],
        "x": table["flops"].tolist(),
        "measure": table["measure"].tolist(),
        "increasing": {"marker": {"color": ATTENTION}},
        "decreasing": {"marker": {"color": BEFORE}},
        "totals": {"marker": {"color": RESIDUAL}},
        "connector": {"line": {"width": 1, "color": BEFORE}},
        "hovertemplate": "<b>%{y}</b><br>%{x:.4~s}" + _("FLOPs") + "<extra></extra>",
    }
    ends = {
        "type": "scatter",
        "mode": "text",
        "x": sums,
        "y": [plain(label) for label in table["label"]],
        "text": [f" {said}" for said in table["said"]],
        "textposition": "middle right",
        "cliponaxis": False,
        "hoverinfo": "skip",
    }
    return figure(
        [bars, ends],
        title=_("From the rule of thumb to the exact count"),
        height=TITLE + AXIS + ROW * len(table),
        margin=(TITLE, AXIS),
        xaxis={
            "title": {"text": _("FLOPs of the whole training")},
            "range": [0, 1.35 * max(sums)],
            "tickformat": "~s",
            "nticks": 5,
            "fixedrange": True,
        },
        yaxis={"autorange": "reversed", "fixedrange": True},
    )


def hours_bars(table: pd.DataFrame, chosen: str, *, title: str, _: Translate) -> Picture:
    """Hours on each kind of device, on a logarithmic axis; the chosen one stands out.

    `table`: device, label, hours, said, fits (whether so many of them hold the training).
    """
    colors = [PINNED if device == chosen else RESIDUAL for device in table["device"]]
    bars = {
        "type": "bar",
        "orientation": "h",
        "y": [plain(label) for label in table["label"]],
        "x": table["hours"].tolist(),
        "text": table["said"].tolist(),
        "textposition": "outside",
        "cliponaxis": False,
        "marker": {
            "color": colors,
            "pattern": {
                "shape": ["" if fits else "/" for fits in table["fits"]],
                "solidity": 0.5,
            },
        },
        "hovertemplate": "<b>%{y}</b><br>%{text}<extra></extra>",
    }
    least, most = float(table["hours"].min()), float(table["hours"].max())
    return figure(
        [bars],
        title=title,
        height=TITLE + AXIS + ROW * len(table),
        margin=(TITLE, AXIS),
        bargap=0.3,
        xaxis={
            "title": {"text": _("time (logarithmic)")},
            "type": "log",
            "range": _log_range(least, most),
            **_time_ticks(_),
            "fixedrange": True,
        },
        yaxis={"autorange": "reversed", "fixedrange": True},
    )


def _log_range(least: float, most: float) -> list[float]:
    """Room for the shortest bar, and for words after the longest."""
    low, high = math.log10(least) - 0.7, math.log10(most)
    return [low, high + 0.45 * (high - low)]


def _time_ticks(_: Translate) -> dict[str, Any]:
    """Round times, in the units in which the bars are said."""
    years = _("{n:,} years")
    ticks = [
        (1 / 3600, _("1 s")),
        (1 / 60, _("1 min")),
        (1, _("1 hour")),
        (DAY, _("1 day")),
        (10 * DAY, _("10 days")),
        (YEAR, _("1 year")),
        *((n * YEAR, years.format(n=n)) for n in (10, 100, 1000, 10_000, 100_000)),
    ]
    return {"tickvals": [n for n, _text in ticks], "ticktext": [text for _n, text in ticks]}
