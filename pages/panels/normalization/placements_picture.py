"""How one head reads with the norm in each place."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from blocks.inspection.placements import PlacementFacts
from pages.figures import palette
from pages.figures.axes import AS_WIDE
from pages.figures.counting import from_one
from pages.figures.theme import HIDDEN_AXIS, TITLE, Picture, Translate, figure
from pages.figures.weights import outline, weight_map

TILE_COLUMNS, TILES_WIDTH, TILE_GAP, TITLE_SHARE = 3, 470, 0.08, 0.16


def patterns(
    facts: PlacementFacts, names: Mapping[str, str], *, pinned: float, _: Translate
) -> Picture:
    """One head in each placement, on one scale, the reader's own outlined.

    `pinned`: where the pinned query stands, 0 (top) to 1.
    """
    codes = [found.codes for found in facts.placed.values()]
    grid, corners = _tiled(codes)
    (height, width), side = grid.shape, codes[0].shape[0]
    above = {"xanchor": "left", "yanchor": "bottom", "font": {"size": 12}}
    own_x, own_y = corners[facts.names.index(facts.own) if facts.own in facts.names else 0]
    return figure(
        [weight_map(grid, _)],
        title=_("Attention of head {head} in each norm placement").format(
            head=from_one(facts.head)
        ),
        height=TITLE + 12 + int(TILES_WIDTH * height / width),
        xaxis={**HIDDEN_AXIS, "range": [-0.5 - 0.06 * side, width - 0.5], "constrain": "domain"},
        yaxis={**HIDDEN_AXIS, "range": [height - 0.5, -0.5], **AS_WIDE},
        shapes=[
            *(_pinned_mark(x, y, side, pinned) for x, y in corners),
            outline(own_x - 0.5, own_y - 0.5, side, side),
        ],
        annotations=[
            {**above, "x": x - 0.5, "y": y - 0.5, "text": names[name]}
            for (x, y), name in zip(corners, facts.names, strict=True)
        ],
    )


def _tiled(codes: Sequence[np.ndarray]) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """All in one map with room for titles above them, and the upper left corner of each."""
    columns, side = min(TILE_COLUMNS, len(codes)), codes[0].shape[0]
    gap, title = max(1, round(TILE_GAP * side)), max(1, round(TITLE_SHARE * side))
    n_rows = -(-len(codes) // columns)
    grid = np.zeros((n_rows * (side + title), columns * (side + gap) - gap), dtype=np.uint8)
    corners = [
        (i % columns * (side + gap), i // columns * (side + title) + title)
        for i in range(len(codes))
    ]
    for tile, (x, y) in zip(codes, corners, strict=True):
        grid[y : y + side, x : x + side] = tile
    return grid, corners


def _pinned_mark(x: float, y: float, side: int, pinned: float) -> dict[str, Any]:
    at, line = y - 0.5 + pinned * side, {"color": palette.PINNED, "width": 3}
    ends = {"x0": x - 0.5 - 0.05 * side, "x1": x - 0.5}
    return {"type": "line", **ends, "y0": at, "y1": at, "line": line}
