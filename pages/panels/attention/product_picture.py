"""A product of two matrices, as it is done by hand."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pages.figures.matrix import (
    Matrix,
    Place,
    axes,
    bar_below,
    bar_beside,
    cells,
    heat,
    hovered,
    outliers,
    outlined,
    short,
    titled,
)
from pages.figures.theme import Picture, Translate, figure, token_label
from pages.panels.attention.matrices import SQUARES
from pages.panels.attention.step_parts import (
    BAR,
    GAP,
    Chosen,
    Size,
    height_of,
    key_names,
    named_scale,
    query_names,
    returns,
    room_above,
    written,
    written_result,
)

BETWEEN = 30  # pixels between two matrices, for a symbol


def product(
    matrices: tuple[Matrix, Matrix, Matrix],
    chosen: Chosen,
    numbers: Sequence[int],
    *,
    title: str,
    size: Size,
    _: Translate,
) -> Picture:
    """left · right = result, as it is done by hand: left beside the result, right above it.

    The row and the column that meet in the chosen cell are outlined. Each matrix has a scale of its
    own: that of the left stands below it, the others beside theirs.
    """
    left, right, result = matrices
    split = _split(left, result, size)
    at_left, at_right = (0, split - GAP / 2), (split + GAP / 2, 1)
    top = room_above(result, Place(2, at_right, (0, 1)), size)
    height = size.height or height_of(len(left.rows), size) + 170 + top + BAR
    foot = 0 if size.is_in_full else BAR
    gap = BETWEEN * size.growth / (height - size.growth * (top + size.room_for_title + 8 + foot))
    floor = _floor(right, result, size, gap)
    below = (0, floor - gap)
    places = Place(1, at_left, below), Place(2, at_right, (floor, 1)), Place(3, at_right, below)
    column = chosen.key if result.name in SQUARES else chosen.feature
    return figure(
        [
            *_factors_and_result(matrices, places, size, _),
            *(each for m, at in zip(matrices, places, strict=True) for each in outliers(m, at)),
            *cells(result, places[2], returns(result, numbers), _),
        ],
        title=title,
        height=height,
        margin=(top + size.room_for_title, 8 + foot),
        shapes=_meeting(matrices, places, chosen.query, column),
        annotations=[
            *_product_titles(matrices, places, top),
            *_corner(left, result, chosen.query, column, (split / 2, (1 + floor) / 2), size),
        ],
        **axes(left, places[0], y=query_names(left.rows, True)),
        **axes(right, places[1], x=key_names(result, places[1], size)),
        **axes(result, places[2]),
    )


def _factors_and_result(
    matrices: tuple[Matrix, Matrix, Matrix],
    places: tuple[Place, Place, Place],
    size: Size,
    _: Translate,
) -> list[dict[str, Any]]:
    """Left, right and result in their colours, each with its scale where it has no numbers."""
    left, right, result = matrices
    at_left, at_right, below = places
    bars = bar_below(at_left), bar_beside(at_right), named_scale(result, bar_beside(below), _)
    first, second, third = (None, None, None) if size.is_in_full else bars
    return [
        {**heat(left, at_left, _, bar=first), **hovered(left, _), **written(left, size)},
        {**heat(right, at_right, _, bar=second), **hovered(right, _), **written(right, size)},
        {**heat(result, below, _, bar=third), **written_result(result, size)},
    ]


def _meeting(
    matrices: Sequence[Matrix], places: Sequence[Place], row: int, column: int | None
) -> list[dict[str, Any]]:
    """The row and the column that meet, and the cell in which they do, where one is chosen."""
    left, right, result = matrices
    shapes = [
        outlined(places[0], 0, row, left.values.shape[1], 1),
        outlined(places[2], 0, row, result.values.shape[1], 1),
    ]
    if column is not None:
        shapes.append(outlined(places[1], column, 0, 1, right.values.shape[0]))
        shapes.append(outlined(places[2], column, row, 1, 1, thick=True))
    return shapes


def _corner(
    left: Matrix,
    result: Matrix,
    row: int,
    column: int | None,
    place: tuple[float, float],
    size: Size,
) -> list[dict[str, Any]]:
    """What is done, in the corner that is free: the outlined row times the outlined column."""
    if column is None:
        return []
    between = "<br>× " if size.is_narrow else " × "
    names = between.join(map(token_label, (left.rows[row], result.columns[column])))
    value = result.values[row, column]
    x, y = place
    at = {"x": x, "y": y, "xref": "paper", "yref": "paper"}
    return [
        {**at, "text": f"{names}<br>= <b>{short(value, is_whole=True)}</b>", "font": {"size": 14}}
    ]


def _product_titles(
    matrices: Sequence[Matrix], places: Sequence[Place], top: int
) -> list[dict[str, Any]]:
    left, right, result = (f"<b>{matrix.symbol}</b>" for matrix in matrices)
    return [
        titled(left, places[0], shift=2),
        titled(right, places[1], shift=top - 34),
        titled(result, places[2], shift=2),
    ]


def _split(left: Matrix, result: Matrix, size: Size) -> float:
    a, b = left.values.shape[1], result.values.shape[1]
    return float(np.clip(a / (a + b), *((0.2, 0.75) if size.is_in_full else (0.28, 0.42))))


def _floor(right: Matrix, result: Matrix, size: Size, gap: float) -> float:
    a, b = right.values.shape[0], result.values.shape[0]
    share = a / (a + b)
    return 1 - ((1 - gap) * share if size.is_in_full else float(np.clip(share, 0.26, 0.34)))
