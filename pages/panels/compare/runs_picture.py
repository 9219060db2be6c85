"""Patterns of two models: one head of each and their difference; and distances of heads."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pages.figures import marks, pattern
from pages.figures.axes import plot_room
from pages.figures.counting import from_one
from pages.figures.signed import largest, signed_bar, signed_map
from pages.figures.theme import Picture, Translate, figure
from pages.figures.token_axis import hover_names, label_room, slanted, token_ticks
from pages.figures.weights import codes, outline, weight_map

SIDE, BAR, NAMES = 300, 52, 16
LEAST_SCALE = 0.1  # what differs less is not drawn as if it were much
NUMBERS_UP_TO = 12
ROW, LEAST_HEIGHT, MOST_HEIGHT, TOP, BOTTOM = 24, 150, 480, 84, 56


def one_pattern(
    cells: np.ndarray,
    weights: np.ndarray,
    tokens: Sequence[str],
    *,
    title: str,
    pinned: int,
    first: int = 0,
    _: Translate,
) -> Picture:
    """One head, query down and key across; `cells` and `weights` as in `pattern.head_map`.

    A click returns the query; `first`: which token of the text the picture begins with.
    """
    heat = _scale_below(weight_map(cells, _), _("weight"))
    return _map(heat, weights, tokens, title, pinned, first, pattern.weight_hover(_), _)


def difference(
    values: np.ndarray,
    tokens: Sequence[str],
    *,
    title: str,
    pinned: int,
    first: int = 0,
    _: Translate,
) -> Picture:
    """B − A, blue where B reads more, orange where A does; NaN where either is masked."""
    most = max(LEAST_SCALE, largest(values))
    bar = signed_bar(values, "", most)
    heat = signed_map(values, most, showscale=True, colorbar=bar)
    hover = _("B − A: {difference}").format(difference="%{customdata[1]:+.3f}")
    heat = _scale_below(heat, _("B − A"))
    return _map(heat, values, tokens, title, pinned, first, hover, _)


def _scale_below(heat: dict[str, Any], title: str) -> dict[str, Any]:
    """The map with its scale below it, where it takes no width."""
    place = {"orientation": "h", "x": 0.5, "xanchor": "center", "y": 0, "yanchor": "top"}
    look = {"thickness": 8, "outlinewidth": 0, "len": 0.9, "ypad": 8}
    named = {"title": {"text": title, "side": "bottom"}}
    return {**heat, "colorbar": {**heat["colorbar"], **place, **look, **named}}


def _map(
    heat: dict[str, Any],
    values: np.ndarray,
    tokens: Sequence[str],
    title: str,
    pinned: int,
    first: int,
    hover: str,
    _: Translate,
) -> Picture:
    n, room = len(tokens), label_room(tokens)
    across, down = [-0.5, n - 0.5], [n - 0.5, -0.5]
    return figure(
        [heat, *pattern.cells(values, first, hover, _)],
        title=title,
        **plot_room(SIDE, BAR, above=room),
        xaxis=slanted(tokens, NAMES, side="top", range=across),
        yaxis={**token_ticks(tokens, NAMES), "range": down},
        xaxis2={**hover_names(tokens), "overlaying": "x", "range": across},
        yaxis2={**hover_names(tokens), "overlaying": "y", "range": down},
        shapes=[outline(-0.5, pinned - first - 0.5, n, 1)],
    )


def distances(
    values: np.ndarray,
    *,
    titles: tuple[str, str],
    selected: tuple[int, int] | None = None,
    title: str,
    _: Translate,
) -> Picture:
    """Distances 0 to 1 as colour, a row and a column each; a click returns row and column.

    `titles`: what rows and columns are, which are counted from 1.
    """
    n_rows, n_columns = values.shape
    heat = weight_map(codes(values), _, name=_("distance"), xgap=1, ygap=1)
    return figure(
        [_scale_below(heat, "") | _numbers(values), _targets(values, titles, _)],
        title=title,
        height=TOP + BOTTOM + max(LEAST_HEIGHT, min(MOST_HEIGHT, ROW * n_rows)),
        margin=(TOP, BOTTOM),
        xaxis={**_axis(n_columns, titles[1]), "side": "top", "range": [-0.5, n_columns - 0.5]},
        yaxis={**_axis(n_rows, titles[0]), "range": [n_rows - 0.5, -0.5]},
        shapes=[] if selected is None else [outline(selected[1] - 0.5, selected[0] - 0.5, 1, 1)],
    )


def _numbers(values: np.ndarray) -> dict[str, Any]:
    """Distances in their cells, where there is room."""
    if values.shape[1] > NUMBERS_UP_TO:
        return {}
    text = [[f"{x:.2f}".removeprefix("0") for x in row] for row in values]
    return {"text": text, "texttemplate": "%{text}", "textfont": {"size": 11}}


def _axis(n: int, title: str) -> dict[str, Any]:
    shown = list(range(0, n, -(-n // NAMES)))
    return {
        "title": title,
        "tickvals": shown,
        "ticktext": [str(from_one(i)) for i in shown],
        "showgrid": False,
        "zeroline": False,
    }


def _targets(values: np.ndarray, titles: tuple[str, str], _: Translate) -> dict[str, Any]:
    row, column = np.indices(values.shape).reshape(2, -1)
    distance = _("distance {distance:.3f}")
    return marks.targets(
        column.astype(np.uint16),
        row.astype(np.uint16),
        np.stack((row, column), axis=1).astype(np.float32),
        20,
        **marks.told(
            f"{titles[0]} {from_one(i)} · {titles[1]} {from_one(j)}: "
            + distance.format(distance=values[i, j])
            for i, j in zip(row, column, strict=True)
        ),
    )
