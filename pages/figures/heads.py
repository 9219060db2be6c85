"""All heads in one picture."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pages.figures import marks, palette
from pages.figures.axes import AS_WIDE, AXIS, BARE
from pages.figures.described import SAID
from pages.figures.theme import ACROSS, EDGE, HIDDEN_AXIS, TILES, TITLE, Picture, Translate, figure
from pages.figures.token_axis import label_room, token_ticks
from pages.figures.weights import outline, weight_map

TITLES_UP_TO = 64
OVERVIEW_WIDTH, LEAST_TITLED = 430, 40  # between a phone and half a desk
PROJECTED = 1200  # pixels of a projector
MOST_TOKENS, TOKEN = 16, 10  # that are named at a tile; pixels of a name
SLANTED = {"tickangle": -55, "automargin": False}


class Names(NamedTuple):
    """What stands beside the rows of tiles and below their columns, and what these are."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    down: str
    across: str


def overview(
    codes: np.ndarray,
    heads: pd.DataFrame,
    *,
    columns: int,
    selected: int | None,
    pinned: float | None,
    pinned_key: float | None = None,
    title: str = "",
    width: int = OVERVIEW_WIDTH,
    is_alone: bool = False,
    names: Names | None = None,
    tokens: Sequence[str] = (),
    _: Translate,
) -> Picture:
    """All heads on one scale; a click on a tile returns its head as customdata.

    `codes`: tiles side by side with room for titles above them, one byte per cell;
    `heads`: head, label, hover, a row each;
    `pinned`: where the pinned query stands in a tile, 0 (top) to 1; `pinned_key` (left to right);
    `width`: pixels that the picture is likely to have; `is_alone`: it stands alone in its row on a
    projector; `names`: what its rows and columns are,
    where tiles have no room for a title each; `tokens`: named beside and below the tiles, of which
    each cell is one of them.
    """
    side, n_rows = (codes.shape[1] + 1) // columns - 1, -(-len(heads) // columns)
    gap = codes.shape[0] // n_rows - side
    places = (divmod(i, columns) for i in range(len(heads)))
    corner = [(x * (side + 1) - 0.5, y * (side + gap) + gap - 0.5) for y, x in places]
    across: dict[str, Any] = HIDDEN_AXIS
    down = across
    if names:
        across = _ticks(names.across, names.columns, side, side + 1, 0)
        down = _ticks(names.down, names.rows, side, side + gap, gap)
    foot = AXIS if names else EDGE
    if tokens:
        foot = label_room(tokens)
        across = {**_of_tokens(tokens, [i * (side + 1) for i in range(columns)]), **SLANTED}
        down = _of_tokens(tokens, [i * (side + gap) + gap for i in range(n_rows)])
    return figure(
        [weight_map(codes, _, showscale=False), _tiles(corner, side, heads)],
        title=title or _("All heads on one color scale"),
        height=TITLE
        + int(width / columns * (1 + gap / side) * n_rows)
        + 12
        + (foot if names or tokens else 0),
        margin=(TITLE, foot),
        xaxis={**across, "range": [-1.2, codes.shape[1]], "constrain": "domain"},
        yaxis={**down, **AS_WIDE, "range": [codes.shape[0], -0.5], "constraintoward": "top"},
        shapes=[
            *_pinned_marks(corner, side, pinned, pinned_key),
            *([] if selected is None else [outline(*corner[selected], side, side)]),
        ],
        annotations=_titles(corner, heads, width / columns),
        meta={TILES: True, **({ACROSS: PROJECTED} if is_alone else {})},
    )


def _ticks(title: str, names: Sequence[str], side: int, step: int, first: int) -> dict[str, Any]:
    """An axis that names each row or column of tiles in its middle."""
    middles = [first + i * step + side / 2 - 0.5 for i in range(len(names))]
    return {"title": title, "tickvals": middles, "ticktext": list(names), **BARE}


def _of_tokens(tokens: Sequence[str], firsts: Sequence[int]) -> dict[str, Any]:
    """An axis that names the tokens of every tile that begins at one of these cells."""
    names = token_ticks(tokens, MOST_TOKENS)
    ticks = [first + i for first in firsts for i in names["tickvals"]]
    texts = names["ticktext"] * len(firsts)
    return {**names, "tickvals": ticks, "ticktext": texts, "tickfont": {"size": TOKEN}, "ticks": ""}


def _pinned_marks(
    corner: Sequence[tuple[float, float]], side: int, query: float | None, key: float | None
) -> list[dict[str, Any]]:
    """A short mark at the left of the pinned query, in every tile, and below the pinned key.

    One path for all of them.
    """
    marks = []
    if query is not None:
        marks += [f"M {x - 0.06 * side},{y + query * side} H {x}" for x, y in corner]
    if key is not None:
        marks += [f"M {x + key * side},{y + side} V {y + 1.06 * side}" for x, y in corner]
    line = {"color": palette.PINNED, "width": 3}
    return [{"type": "path", "path": " ".join(marks), "line": line}] if marks else []


def _titles(
    corner: Sequence[tuple[float, float]], heads: pd.DataFrame, tile_width: float
) -> list[dict[str, Any]]:
    """What each tile is called, above it, where there is room."""
    if len(heads) > TITLES_UP_TO or tile_width < LEAST_TITLED:
        return []
    look = {"xanchor": "left", "yanchor": "bottom", "font": {"size": 12}}
    named = zip(corner, heads["label"], strict=True)
    return [{**look, "x": x, "y": y, "text": label} for (x, y), label in named]


def _tiles(corner: Sequence[tuple[float, float]], side: int, heads: pd.DataFrame) -> dict[str, Any]:
    """Nine invisible markers a tile, so that a click anywhere in it finds its head."""
    thirds = [(i, j) for i in (1 / 6, 3 / 6, 5 / 6) for j in (1 / 6, 3 / 6, 5 / 6)]
    told = zip(heads["head"], heads["hover"], strict=True)
    return marks.targets(
        [x + i * side for x, _y in corner for i, _j in thirds],
        [y + j * side for _x, y in corner for _i, j in thirds],
        [[head, hover] for head, hover in told for _third in thirds],
        34,
        hovertemplate="%{customdata[1]}<extra></extra>",
        meta={SAID: heads["hover"].tolist()},
    )
