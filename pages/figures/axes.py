"""Axes that pictures share: sizes on a logarithmic scale, a legend under them, rows of stages."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from pages.figures.theme import EDGE, HALF_A_TICK_LABEL, TITLE, TITLE_AND_LEGEND, legend

MOST_POWERS, MOST_DECADES, FEW_DECADES = 8, 3.5, 0.6  # with three ticks each; with all of them
AXIS, LEGEND_ROW = 56, 20  # pixels under the plot: ticks and title, and each row of a legend
NAMES_IN_A_ROW = 3
STAGE_ROW, STAGE_BOTTOM = 66, 48  # alike in every picture of the flow, so that they read across
AS_WIDE = {"scaleanchor": "x", "constrain": "domain"}  # cells are as high as they are wide
BARE = {"showgrid": False, "zeroline": False, "ticks": ""}  # of names beside cells


def half_of_last(sizes: Sequence[int]) -> int:
    """Half of what the last of these sizes takes, in pixels: it reaches beyond the axis."""
    return max(HALF_A_TICK_LABEL, 4 * len(f"{sizes[-1]:,}"))


def log_sizes(title: str, sizes: Sequence[float]) -> dict[str, Any]:
    """An axis with a tick at each of these sizes, turned so that none reaches beyond the right."""
    return {
        "title": title,
        "type": "log",
        "tickvals": list(sizes),
        "ticktext": [f"{size:,}" for size in sizes],
        "autotickangles": [0, -45, -90],
    }


def log_axis(
    least: float, most: float, *, room: float = 0.06, said: Callable[[float], str] = "{:g}".format
) -> dict[str, Any]:
    """A logarithmic axis over these values, with a tick at 1, 2 and 5 of each power of ten.

    `room` beyond both ends, in powers of ten; far apart, the powers alone have ticks, close
    together all digits.
    """
    low, high = math.log10(least) - room, math.log10(most) + room
    steps: Sequence[int] = (1, 2, 5) if high - low < MOST_DECADES else (1,)
    if high - low < FEW_DECADES:
        steps = range(1, 10)
    powers = range(math.floor(low), math.ceil(high) + 1, max(1, int(high - low) // MOST_POWERS))
    every = [step * 10.0**power for power in powers for step in steps]
    ticks = [tick for tick in every if low <= math.log10(tick) <= high]
    return {
        "type": "log",
        "range": [low, high],
        "tickvals": ticks,
        "ticktext": [said(tick) for tick in ticks],
    }


def room_for_legend(plot_height: int, n_names: int, *, above: int = 0) -> dict[str, Any]:
    """Height and margin of a picture with this plot, and its legend at the foot.

    There is room for as many rows as the names take on a wide page; on a phone, where each has a
    row of its own, Plotly takes the rest from the plot.
    """
    below = AXIS + LEGEND_ROW * math.ceil(n_names / NAMES_IN_A_ROW)
    foot = {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"}
    return {
        **plot_room(plot_height, below, above=above),
        "showlegend": True,
        "legend": {**foot, "traceorder": "normal"},
    }


def plot_room(plot_height: int, below: int = EDGE, *, above: int = 0) -> dict[str, Any]:
    """Height and margin of a picture with this plot, `above` it and `below` it so many pixels."""
    top = TITLE + above
    return {"height": top + plot_height + below, "margin": (top, below)}


def room_under_legend(plot_height: int, below: int = EDGE, *, above: int = 0) -> dict[str, Any]:
    above += TITLE_AND_LEGEND - TITLE
    return {**plot_room(plot_height, below, above=above), **legend()}


def row_names(names: Sequence[str], **more: Any) -> dict[str, Any]:
    """An axis of rows that are called so, the first on top."""
    n = len(names)
    ticks = {"tickvals": list(range(n)), "ticktext": list(names), "range": [n - 0.5, -0.5]}
    return {**ticks, **more}


def stage_rows(stages: pd.DataFrame) -> dict[str, Any]:
    """Height and margin of a picture that has these rows."""
    height = TITLE_AND_LEGEND + STAGE_BOTTOM + int(STAGE_ROW * (len(stages) + 0.2))
    return {"height": height, "margin": (TITLE_AND_LEGEND, STAGE_BOTTOM)}


def row_range(stages: pd.DataFrame) -> list[float]:
    """The range of its y axis: row 0 on top."""
    return [len(stages) - 0.3, -0.5]
