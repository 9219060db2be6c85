"""Signed tables as colour: what positions are told by, how alike they are, what moves them on."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pages.figures import marks, palette
from pages.figures.axes import AS_WIDE
from pages.figures.theme import EDGE, TITLE, Picture, Translate, faint, figure, plain
from pages.figures.weights import outline

CODES = 254
MOST_MARKS = 8_000
TICKS, NUMBERS_UP_TO = 8, 12
# Nought lets the page through, so that signs are told apart in light and dark alike.
SIGNED = (
    (0.0, palette.FEED_FORWARD),
    (0.25, faint(palette.FEED_FORWARD, 0.55)),
    (0.5, faint(palette.ATTENTION, 0.0)),
    (0.75, faint(palette.ATTENTION, 0.55)),
    (1.0, palette.ATTENTION),
)


class Names(NamedTuple):
    """What a table and its axes are called, in the reader's language."""

    title: str
    rows: str
    columns: str
    value: str


def table(
    values: np.ndarray,
    columns: Sequence[int],
    names: Names,
    *,
    most: float,
    pinned: int,
    chosen: Sequence[int],
    first: int = 0,
    tokens: Sequence[str],
    _: Translate,
) -> Picture:
    """Values (position, column) from −most to most; a click returns [position, column].

    `columns`: the number of each column, from 0; `first`: what is shown for 0; `pinned`: the
    position that is outlined; `chosen`: the columns that are outlined; `tokens`: what stands at
    the first positions.
    """
    n, width = values.shape
    shown = [i for i, column in enumerate(columns) if column in chosen]
    outlines = [outline(-0.5, pinned - 0.5, width, 1)]
    if width > len(shown):
        outlines += [_band(column - 0.5, 1, n) for column in shown]
    return figure(
        [_map(values, most, names.value), _marks(values, columns, first, names, tokens, _)],
        title=names.title,
        height=TITLE + 400 + 44,
        margin=(TITLE, EDGE),
        xaxis=_ticks([column + first for column in columns], names.columns),
        yaxis={**_ticks(list(range(n)), names.rows), "range": [n - 0.5, -0.5]},
        shapes=outlines,
    )


def square(
    values: np.ndarray,
    names: Names,
    *,
    most: float = 1.0,
    pinned: int | None = None,
    numbers: bool = False,
    _: Translate,
) -> Picture:
    """A square table from −most to most, row 0 on top; `numbers`: written in where there is room.

    Cells say their numbers under the cursor; `pinned`: the row that is outlined.
    """
    n = len(values)
    cells = {
        **_map(values, most, names.value),
        "hoverinfo": None,
        "customdata": np.ascontiguousarray(values, dtype=np.float32),
        "hovertemplate": f"{names.rows} %{{y}}, {names.columns} %{{x}}<br>"
        f"{names.value} %{{customdata:.3f}}<extra></extra>",
    }
    if numbers and n <= NUMBERS_UP_TO:
        cells |= {"text": [[f"{value:.2f}" for value in row] for row in values]}
        cells |= {"texttemplate": "%{text}", "textfont": {"size": 10}}
    return figure(
        [cells],
        title=names.title,
        height=TITLE + 330 + 44,
        margin=(TITLE, EDGE),
        xaxis={**_ticks(list(range(n)), names.columns), "constrain": "domain"},
        yaxis={**_ticks(list(range(n)), names.rows), "range": [n - 0.5, -0.5], **AS_WIDE},
        shapes=[] if pinned is None else [outline(-0.5, pinned - 0.5, n, 1)],
    )


def _map(values: np.ndarray, most: float, value: str) -> dict[str, Any]:
    """One byte per cell."""
    most = most or 1.0
    codes = np.rint((np.clip(values / most, -1, 1) + 1) / 2 * CODES).astype(np.uint8)
    ticks = (-1, -0.5, 0, 0.5, 1)
    return marks.heat(
        codes,
        zmin=0,
        zmax=CODES,
        colorscale=[list(stop) for stop in SIGNED],
        colorbar=marks.color_bar(
            value,
            tickvals=[(tick + 1) / 2 * CODES for tick in ticks],
            ticktext=[f"{tick * most:.2g}" for tick in ticks],
        ),
    )


def _marks(
    values: np.ndarray,
    columns: Sequence[int],
    first: int,
    names: Names,
    tokens: Sequence[str],
    _: Translate,
) -> dict[str, Any]:
    """Invisible marks over the cells, or over evenly chosen ones where there are very many."""
    n, width = values.shape
    step = -(-width // max(1, MOST_MARKS // n))
    at = np.arange(0, width, step)
    row, column = (axis.ravel() for axis in np.meshgrid(np.arange(n), at, indexing="ij"))
    number = np.asarray(columns, dtype=np.float32)[column]
    return marks.targets(
        column.astype(np.uint16),
        row.astype(np.uint16),
        np.stack((row, number, number + first, values[row, column]), axis=1).astype(np.float32),
        12,
        hovertext=[_row_name(i, names.rows, tokens) for i in range(n) for _at in at],
        hovertemplate=f"%{{hovertext}}<br>{names.columns} %{{customdata[2]}}<br>"
        f"{names.value} %{{customdata[3]:.4f}}<extra></extra>",
    )


def _row_name(row: int, rows: str, tokens: Sequence[str]) -> str:
    token = f" · {plain(tokens[row])}" if row < len(tokens) else ""
    return f"{rows} {row}{token}"


def _band(x: float, width: float, n: int) -> dict[str, Any]:
    """The chosen columns, between two lines of the same colour as what is pinned."""
    return {**outline(x, -0.5, width, n), "line": {**outline(0, 0, 0, 0)["line"], "dash": "dot"}}


def _ticks(numbers: Sequence[int], title: str) -> dict[str, Any]:
    step = -(-len(numbers) // TICKS)
    shown = range(0, len(numbers), step)
    return {
        "title": title,
        "tickmode": "array",
        "tickvals": list(shown),
        "ticktext": [str(numbers[i]) for i in shown],
        "showgrid": False,
        "zeroline": False,
    }
