"""A matrix of tokens against tokens: colours below, marks that are hovered and clicked above.

A browser draws no more than a handful of charts by WebGL on one page, so marks are SVG as long as
they are few; where they are many, only charts that are clicked have them.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pages.figures import palette
from pages.figures.marks import dots, points_of, steady
from pages.figures.row_sums import BAR_ROOM, row_sums, scaled_below
from pages.figures.theme import TITLE, Picture, figure, token_label
from pages.figures.token_axis import CROWDED, hover_names, label_room, slanted, token_ticks
from pages.figures.weights import outline

AXIS_TITLE = 26
ROWS_NAMED, COLUMNS_NAMED = 32, 16
LEAST_HEIGHT, MOST_HEIGHT = 260, 560


class Names(NamedTuple):
    """What a matrix, its axes and each row and column are called, in the reader's language.

    `row_label`: how a row's name is written, where it is no token.
    """

    title: str
    down: str
    across: str
    rows: Sequence[str]
    columns: Sequence[str]
    row_label: Callable[[str], str] = token_label


def token_matrix(
    heatmap: dict[str, Any],
    marks: Sequence[dict[str, Any]],
    names: Names,
    *,
    is_clicked: bool = True,
    pinned: int | None = None,
    pinned_column: int | None = None,
    shapes: Sequence[dict[str, Any]] = (),
    annotations: Sequence[dict[str, Any]] = (),
    sums: np.ndarray | None = None,
    angle: int = -55,
    is_narrow: bool = False,
) -> Picture:
    """Rows down and columns across; `pinned`: the row that is outlined, `pinned_column` likewise.

    `angle` of the names above: upright (-90) where columns may be narrower than a name is high.
    `is_narrow`: one of three side by side.

    `sums`: what each row adds up to, at its right; the scale of the colours is below then.

    Where marks are too many for a chart that is not clicked, the colours themselves are hovered.
    """
    n_rows, n_columns = len(names.rows), len(names.columns)
    room = label_room(names.columns)
    width, height = [-0.5, n_columns - 0.5], [n_rows - 0.5, -0.5]
    below = 0
    axes: dict[str, Any] = {}
    if sums is not None:
        found = row_sums(sums, height)
        heatmap, marks, below = scaled_below(heatmap), [*marks, found.trace], BAR_ROOM
        axes = {"yaxis3": found.axis}
    return figure(
        _traces(heatmap, marks, is_clicked=is_clicked),
        title=names.title,
        height=max(LEAST_HEIGHT, min(MOST_HEIGHT, 100 + 22 * n_rows)) + room + below,
        margin=(TITLE + room, AXIS_TITLE + below),
        xaxis=slanted(
            names.columns, COLUMNS_NAMED, angle=angle, is_narrow=is_narrow, side="top", range=width
        ),
        yaxis={
            **token_ticks(names.rows, ROWS_NAMED, names.row_label),
            "title": names.down,
            "range": height,
        },
        xaxis2={**hover_names(names.columns), "overlaying": "x", "range": width},
        yaxis2={**hover_names(names.rows, names.row_label), "overlaying": "y", "range": height},
        **axes,
        shapes=[*shapes, *_pinned(pinned, pinned_column, n_rows, n_columns)],
        annotations=[_across(names.across), *annotations],
    )


def _pinned(
    row: int | None, column: int | None, n_rows: int, n_columns: int
) -> list[dict[str, Any]]:
    """The outlines of what is pinned, as far as it is drawn."""
    found = []
    if row is not None and row < n_rows:
        found.append(outline(-0.5, row - 0.5, n_columns, 1))
    if column is not None and column < n_columns:
        found.append(outline(column - 0.5, -0.5, 1, n_rows))
    return found


def _traces(
    heatmap: dict[str, Any], marks: Sequence[dict[str, Any]], *, is_clicked: bool
) -> list[dict[str, Any]]:
    kind = points_of(sum(len(each["x"]) for each in marks))
    if is_clicked or kind == "scatter":
        return [heatmap, *({**each, "type": kind} for each in marks)]
    nothing = {"type": "scatter", "x": [None], "y": [None]}  # keeps the axes that have labels
    said = marks[0]["hovertemplate"].replace("customdata[2]", "customdata")
    values = np.zeros(heatmap["z"].shape, dtype=np.float32)
    for each in marks:
        values[each["y"], each["x"]] = each["customdata"][:, 2]
    hover = {"hoverinfo": None, "hovertemplate": said, "customdata": values}
    return [nothing, {**heatmap, **hover, "xaxis": "x2", "yaxis": "y2"}]


def _across(text: str) -> dict[str, Any]:
    """Below the matrix, since the tokens stand above it."""
    place = {"x": 0.5, "xref": "paper", "y": 0, "yref": "paper", "yanchor": "top"}
    return {**place, "text": text}


def cell_marks(
    where: np.ndarray,
    values: np.ndarray,
    said: str,
    *,
    symbol: str = "square",
    color: str = palette.RESIDUAL,
    opacity: float = 0.0,
    size: int = 0,
) -> dict[str, Any]:
    """Marks on the cells that `where` names; a click returns [row, column, value].

    `said` is the text under the cursor after both names, with `%{customdata[2]}` for the value.
    """
    row, column = np.nonzero(where)
    numbers = (row, column, np.nan_to_num(values[row, column], posinf=0.0, neginf=0.0))
    return dots(
        column.astype(np.uint16),
        row.astype(np.uint16),
        xaxis="x2",
        yaxis="y2",
        customdata=np.stack(numbers, axis=1).astype(np.float32),
        hovertemplate=f"%{{y}} → %{{x}}<br>{said}<extra></extra>",
        marker={
            "symbol": symbol,
            "size": size or max(6, min(26, 300 // max(where.shape))),
            "color": color,
            "opacity": opacity,
            "line": {"width": 1.5, "color": color},
        },
        **steady(opacity),
    )


def hatching(where: np.ndarray, values: np.ndarray, said: str) -> dict[str, Any]:
    """Cells that are forbidden: hatched where there is room, and hovered in any case."""
    is_seen = max(where.shape) <= 2 * CROWDED
    size = max(4, min(11, 200 // max(where.shape)))
    shown = {"opacity": 0.4 if is_seen else 0.0, "size": size}
    return cell_marks(where, values, said, symbol="line-ne", **shown)


def alarms(where: np.ndarray, values: np.ndarray, said: str) -> dict[str, Any]:
    """Cells that ought to be exactly 0 and are not: a cross, so that colour is not alone."""
    opacity = 0.9 if max(where.shape) <= 2 * CROWDED else 0.0
    return cell_marks(
        where, values, said, symbol="x-thin", size=6, opacity=opacity, color="#ffffff"
    )
