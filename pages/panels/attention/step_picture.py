"""One step of a head, large: what goes in, and what comes out."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from blocks.inspection.head_facts import HeadFacts
from pages.figures.matrix import (
    Matrix,
    Place,
    Returns,
    axes,
    bar_below,
    bar_beside,
    cells,
    common_scale,
    heat,
    hovered,
    numbered,
    outliers,
    outlined,
    short,
    titled,
)
from pages.figures.theme import Picture, Translate, figure, token_label
from pages.figures.token_axis import label_room, token_ticks
from pages.panels.attention.matrices import (
    MADE_BY,
    MOST_FEATURES,
    MOST_TOKENS,
    SQUARES,
    STEP_TITLES,
    matrix_of,
)

GAP, SUMS_FROM, KEYS_NAMED = 0.03, 0.92, 12
BAR = 60  # pixels of a scale below a matrix
PRODUCTS = {
    "scores": ("q", "k", "raw"),
    "mix": ("pattern", "v", "mixed"),
    "write": ("mixed", "out_weight", "written"),
}
READS = {"scaled": "raw", "cap": "scaled", "softmax": "masked", "gate": "mixed"}


class Chosen(NamedTuple):
    """The cell that is written out, counted within what is drawn; None: not drawn."""

    query: int
    key: int | None
    feature: int | None


def step(facts: HeadFacts, *, _: Translate) -> Picture:
    """One step of a head large."""
    drawn, title = facts.drawn(MOST_TOKENS), _(STEP_TITLES[facts.step])
    column = facts.column(facts.step)
    chosen = Chosen(
        facts.query - drawn.first,
        drawn.inside(facts.key),
        column if column < MOST_FEATURES else None,
    )
    numbers = range(drawn.first, drawn.end)
    if facts.step in PRODUCTS:
        first, *others = PRODUCTS[facts.step]
        is_gated = facts.step == "write" and facts.steps.gated is not None
        names = ("gated" if is_gated else first, *others)
        left, right, result = (matrix_of(facts, name, _) for name in names)
        right = right.transposed if facts.step == "scores" else right
        return product((left, right, result), chosen, numbers, title=title, _=_)
    made = MADE_BY[facts.step]
    read = () if facts.step == "qkv" else (_read_by(facts),)
    matrices = [matrix_of(facts, name, _) for name in (*read, *made)]
    return side_by_side(matrices, chosen, numbers, title=title, _=_)


def _read_by(facts: HeadFacts) -> str:
    """What a step changes; bias and mask are put on what the step before them gave."""
    before = ("capped", "scaled") if facts.step == "bias" else ("biased", "capped", "scaled")
    there = (name for name in before if getattr(facts.steps, name) is not None)
    return READS.get(facts.step) or next(there)


def _returns(matrix: Matrix, tokens: Sequence[int]) -> Returns:
    """What a click on a cell of this matrix gives (see `cells`); `tokens`: those drawn."""
    is_square = matrix.name in SQUARES
    return tokens, tokens if is_square else range(matrix.values.shape[1]), int(is_square)


def side_by_side(
    matrices: Sequence[Matrix], chosen: Chosen, numbers: Sequence[int], *, title: str, _: Translate
) -> Picture:
    """Matrices with the same rows: what goes in, and what comes out of a step on each cell.

    The pinned row is outlined in each, and the chosen cell where the columns are keys. Scores and
    weights have a scale each, below; all else has one in common.
    """
    n, width = len(matrices), 1 / len(matrices)
    end = SUMS_FROM if matrices[-1].is_weights else 1
    places = [
        Place(i + 1, (end * i * width + (GAP if i else 0), end * (i + 1) * width), (0, 1))
        for i in range(n)
    ]
    tokens = matrices[0].rows
    is_square = matrices[-1].name in SQUARES
    top = 40 + (label_room(tokens) if is_square else 0)
    traces, most = [], common_scale(matrices)
    bars = _bars(matrices, places, _)
    foot = BAR if bars[0] else 0
    layout: dict[str, Any] = {}
    for i, (matrix, place) in enumerate(zip(matrices, places, strict=True)):
        colors = heat(matrix, place, _, bar=bars[i], most=most)
        traces.append({**colors, **numbered(matrix.values)})
        traces += outliers(matrix, place)
        traces += cells(matrix, place, _returns(matrix, numbers), _)
        rows = _query_names(tokens, i == 0) | _row_sums(matrix)
        layout |= axes(matrix, place, x=_key_names(matrix), y=rows)
    marks = [
        mark
        for matrix, place in zip(matrices, places, strict=True)
        for mark in _marks(matrix, place, chosen)
    ]
    return figure(
        traces,
        title=title,
        height=_height(len(tokens)) + top + foot,
        margin=(top + 26, 8 + foot),
        shapes=marks,
        annotations=_titles(matrices, places, top),
        **layout,
    )


def _bars(
    matrices: Sequence[Matrix], places: Sequence[Place], _: Translate
) -> list[dict[str, Any] | None]:
    """Where the scale of each stands; of matrices on one scale it is that of the last."""
    has_own = any(matrix.end is not None for matrix in matrices)
    if len({matrix.is_weights for matrix in matrices}) == 1 and not has_own:
        return [*[None] * (len(matrices) - 1), _named(matrices[-1], {}, _)]
    return [_named(m, bar_below(place), _) for m, place in zip(matrices, places, strict=True)]


def _named(matrix: Matrix, bar: dict[str, Any], _: Translate) -> dict[str, Any]:
    """The scale of scores is called so, since a head has values, too."""
    if matrix.is_weights or matrix.name not in SQUARES:
        return bar
    return {**bar, "title": {**bar.get("title", {}), "text": _("scores")}}


def _titles(matrices: Sequence[Matrix], places: Sequence[Place], top: int) -> list[dict[str, Any]]:
    return [
        titled(f"<b>{matrix.symbol}</b>", place, shift=top - 34)
        for matrix, place in zip(matrices, places, strict=True)
    ]


def _height(n_rows: int) -> int:
    return max(260, min(560, 24 * n_rows + 20))


def _query_names(tokens: Sequence[str], is_shown: bool) -> dict[str, Any]:
    shown = {"showticklabels": True, "automargin": True}
    return {**token_ticks(tokens, MOST_TOKENS), **shown} if is_shown else {}


def _key_names(matrix: Matrix) -> dict[str, Any]:
    if matrix.name not in SQUARES:
        return {}
    names = token_ticks(matrix.columns, KEYS_NAMED)
    shown = {"showticklabels": True, "side": "top", "tickangle": -55, "automargin": False}
    return {**names, **shown}


def _marks(matrix: Matrix, place: Place, chosen: Chosen) -> list[dict[str, Any]]:
    """The pinned row (of K and V the chosen key's), and the chosen cell."""
    n_columns = matrix.values.shape[1]
    if matrix.name in ("k", "v"):
        return [] if chosen.key is None else [outlined(place, 0, chosen.key, n_columns, 1)]
    row = [outlined(place, 0, chosen.query, n_columns, 1)]
    column = chosen.key if matrix.name in SQUARES else chosen.feature
    if column is None or matrix.name == "q":
        return row
    return [*row, outlined(place, column, chosen.query, 1, 1, thick=True)]


def _row_sums(matrix: Matrix) -> dict[str, Any]:
    """What the weights of each query come to, as names of the rows at the right."""
    if not matrix.is_weights:
        return {}
    sums = [f"Σ {total:.3f}" for total in np.nansum(matrix.values, axis=1)]
    names = {**token_ticks(sums, MOST_TOKENS), "tickfont": {"size": 10}, "automargin": False}
    return {**names, "showticklabels": True, "side": "right"}


def product(
    matrices: tuple[Matrix, Matrix, Matrix],
    chosen: Chosen,
    numbers: Sequence[int],
    *,
    title: str,
    _: Translate,
) -> Picture:
    """left · right = result, as it is done by hand: left beside the result, right above it.

    The row and the column that meet in the chosen cell are outlined. Each matrix has a scale of its
    own: that of the left stands below it, the others beside theirs.
    """
    left, right, result = matrices
    split, floor = _split(left, result), _floor(right, result)
    at_left, at_right, below = (0, split - GAP / 2), (split + GAP / 2, 1), (0, floor - 0.07)
    places = Place(1, at_left, below), Place(2, at_right, (floor, 1)), Place(3, at_right, below)
    column = chosen.key if result.name in SQUARES else chosen.feature
    top = 40 + label_room(right.columns) if result.name in SQUARES else 40
    return figure(
        [
            *_factors_and_result(matrices, places, _),
            *(each for m, at in zip(matrices, places, strict=True) for each in outliers(m, at)),
            *cells(result, places[2], _returns(result, numbers), _),
        ],
        title=title,
        height=_height(len(left.rows)) + 170 + top + BAR,
        margin=(top + 26, 8 + BAR),
        shapes=_meeting(matrices, places, chosen.query, column),
        annotations=[
            *_product_titles(matrices, places, top),
            *_corner(left, result, chosen.query, column, (split / 2, (1 + floor) / 2)),
        ],
        **axes(left, places[0], y=_query_names(left.rows, True)),
        **axes(right, places[1], x=_key_names(result)),
        **axes(result, places[2]),
    )


def _factors_and_result(
    matrices: tuple[Matrix, Matrix, Matrix], places: tuple[Place, Place, Place], _: Translate
) -> list[dict[str, Any]]:
    """Left, right and result in their colours, each with its scale."""
    left, right, result = matrices
    at_left, at_right, below = places
    bar = _named(result, bar_beside(below), _)
    return [
        {**heat(left, at_left, _, bar=bar_below(at_left)), **hovered(left, _)},
        {**heat(right, at_right, _, bar=bar_beside(at_right)), **hovered(right, _)},
        {**heat(result, below, _, bar=bar), **numbered(result.values)},
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
    left: Matrix, result: Matrix, row: int, column: int | None, place: tuple[float, float]
) -> list[dict[str, Any]]:
    """What is done, in the corner that is free: the outlined row times the outlined column."""
    if column is None:
        return []
    names = f"{token_label(left.rows[row])} × {token_label(result.columns[column])}"
    value = result.values[row, column]
    x, y = place
    at = {"x": x, "y": y, "xref": "paper", "yref": "paper"}
    return [{**at, "text": f"{names}<br>= <b>{short(value)}</b>", "font": {"size": 14}}]


def _product_titles(
    matrices: Sequence[Matrix], places: Sequence[Place], top: int
) -> list[dict[str, Any]]:
    left, right, result = (f"<b>{matrix.symbol}</b>" for matrix in matrices)
    return [
        titled(left, places[0], shift=2),
        titled(right, places[1], shift=top - 34),
        titled(result, places[2], shift=2),
    ]


def _split(left: Matrix, result: Matrix) -> float:
    """Where the left matrix ends, in shares of the width."""
    a, b = left.values.shape[1], result.values.shape[1]
    return float(np.clip(a / (a + b), 0.28, 0.42))


def _floor(right: Matrix, result: Matrix) -> float:
    """Where the upper matrix begins, in shares of the height."""
    a, b = right.values.shape[0], result.values.shape[0]
    return 1 - float(np.clip(a / (a + b), 0.26, 0.34))
