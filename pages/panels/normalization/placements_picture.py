"""The same weights with the norm in each place: what leaves a layer, and how one head reads."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pages.figures.counting import from_one
from pages.figures.series import legend_room, placement_line
from pages.figures.theme import (
    EDGE,
    HIDDEN_AXIS,
    PINNED,
    TITLE,
    Picture,
    Translate,
    figure,
    legend,
    small,
)
from pages.figures.weights import outline, weight_map

TILES_WIDTH, TILE_GAP, TITLE_SHARE = 470, 0.08, 0.16


def spreads(
    found: Mapping[str, pd.DataFrame],
    names: Mapping[str, str],
    *,
    own: str,
    of_sizes: bool,
    _: Translate,
) -> Picture:
    """How the values are spread in each placement. `found`: value, density, by placement.

    `of_sizes`: the values are log₁₀ of the sizes of the values, for scales that lie far apart.
    """
    traces = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": small(10 ** table["value"].to_numpy() if of_sizes else table["value"].to_numpy()),
            "y": small(table["density"].to_numpy()),
            "name": names[placement],
            "line": {**placement_line(placement), "width": 4 if placement == own else 2},
            "hovertemplate": f"{names[placement]}<br>%{{x:.3g}}: %{{y:.3g}}<extra></extra>",
        }
        for placement, table in found.items()
    ]
    plain_axis = {"title": {"text": _("value")}}
    log_axis = {
        "title": {"text": _("magnitude of the value")},
        "type": "log",
        "exponentformat": "power",
        "dtick": 1,
    }
    per = _("share of values per decade") if of_sizes else _("share of values per unit")
    return figure(
        traces,
        title=_("The layer's output values"),
        height=380,
        margin=(legend_room(names), EDGE),
        **legend(),
        xaxis={"fixedrange": True, **(log_axis if of_sizes else plain_axis)},
        yaxis={"title": {"text": per}, "fixedrange": True, "rangemode": "tozero"},
    )


def patterns(
    codes: Sequence[np.ndarray],
    labels: Sequence[str],
    *,
    columns: int,
    head: int,
    own: int,
    pinned: float,
    _: Translate,
) -> Picture:
    """One head in each placement, on one scale. `codes`: (query, key) each, one byte a cell.

    `own`: which of them is the reader's; `pinned`: where its query stands, 0 (top) to 1.
    """
    side = codes[0].shape[0]
    gap, title = max(1, round(TILE_GAP * side)), max(1, round(TITLE_SHARE * side))
    n_rows = -(-len(codes) // columns)
    grid = np.zeros((n_rows * (side + title), columns * (side + gap) - gap), dtype=np.uint8)
    corners = [
        (i % columns * (side + gap), i // columns * (side + title) + title)
        for i in range(len(codes))
    ]
    for tile, (x, y) in zip(codes, corners, strict=True):
        grid[y : y + side, x : x + side] = tile
    height, width = grid.shape
    return figure(
        [weight_map(grid, _)],
        title=_("Attention of head {head} in each norm placement").format(head=from_one(head)),
        height=TITLE + 12 + int(TILES_WIDTH * height / width),
        xaxis={**HIDDEN_AXIS, "range": [-0.5 - 0.06 * side, width - 0.5], "constrain": "domain"},
        yaxis={
            **HIDDEN_AXIS,
            "range": [height - 0.5, -0.5],
            "scaleanchor": "x",
            "constrain": "domain",
        },
        shapes=[
            *(_pinned_mark(x, y, side, pinned) for x, y in corners),
            outline(corners[own][0] - 0.5, corners[own][1] - 0.5, side, side),
        ],
        annotations=[
            _tile_title(x, y, label) for (x, y), label in zip(corners, labels, strict=True)
        ],
    )


def _pinned_mark(x: float, y: float, side: int, pinned: float) -> dict[str, Any]:
    at, line = y - 0.5 + pinned * side, {"color": PINNED, "width": 3}
    ends = {"x0": x - 0.5 - 0.05 * side, "x1": x - 0.5}
    return {"type": "line", **ends, "y0": at, "y1": at, "line": line}


def _tile_title(x: float, y: float, label: str) -> dict[str, Any]:
    place = {"x": x - 0.5, "y": y - 0.5, "xanchor": "left", "yanchor": "bottom"}
    return {**place, "text": label, "showarrow": False, "font": {"size": 12}}
