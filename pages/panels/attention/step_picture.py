"""One step of a head, large: what goes in, and what comes out."""

from collections.abc import Sequence
from typing import Any

from blocks.inspection.head_facts import OF_SCORES, HeadFacts
from pages.figures import palette
from pages.figures.counting import from_one
from pages.figures.matrix import (
    Matrix,
    Place,
    axes,
    bar_below,
    cells,
    common_scale,
    heat,
    outliers,
    outlined,
    titled,
)
from pages.figures.theme import Picture, Translate, figure
from pages.panels.attention.matrices import (
    MADE_BY,
    MOST_FEATURES,
    MOST_TOKENS,
    SQUARES,
    STEP_TITLES,
    matrix_of,
)
from pages.panels.attention.product_picture import product
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
    row_sums,
    size_of,
    written_result,
)

SUMS_FROM, HEADS_NAMED = 0.92, 6
PRODUCTS = {
    "project": ("x", "q_weight", "projected"),
    "scores": ("q", "k", "raw"),
    "mix": ("pattern", "v", "mixed"),
    "write": ("mixed", "out_weight", "written"),
}
READS = {
    **{"scaled": "raw", "cap": "scaled", "softmax": "masked", "gate": "mixed"},
    "heads": "concat",
}


def step(facts: HeadFacts, *, _: Translate) -> Picture:
    return _drawn(facts, Size(), _)


def narrow(facts: HeadFacts, *, _: Translate) -> Picture:
    """The same on a phone."""
    return _drawn(facts, Size(is_narrow=True), _)


def presented(facts: HeadFacts, *, _: Translate) -> Picture:
    """The same for a projector: on one screen with its sentence and its numbers."""
    size = presented_size(facts)
    return size.given_to(_drawn(facts, size, _))


def presented_size(facts: HeadFacts) -> Size:
    return size_of(len(facts.labels), facts.widest, is_high=facts.step == "project")


def _drawn(facts: HeadFacts, size: Size, _: Translate) -> Picture:
    drawn = facts.drawn(MOST_TOKENS)
    title = "" if size.width else _(STEP_TITLES[facts.step])  # which the numbers beside it have
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
        return product((left, right, result), chosen, numbers, title=title, size=size, _=_)
    made = MADE_BY[facts.step]
    is_alone = facts.step == "qkv" or (size.is_narrow and facts.step in OF_SCORES)
    read = () if is_alone else (_read_by(facts),)
    matrices = [matrix_of(facts, name, _) for name in (*read, *made)]
    if facts.step == "mask":  # which changes no score that it lets through: each keeps its color
        end = matrix_of(facts, _read_by(facts), _).end
        matrices = [matrix._replace(end=end) for matrix in matrices]
    picture = side_by_side(matrices, chosen, numbers, title=title, size=size, _=_)
    return _with_heads(picture, facts, matrices[0], _) if facts.step == "heads" else picture


def _with_heads(picture: Picture, facts: HeadFacts, concat: Matrix, _: Translate) -> Picture:
    """Where one head ends and the next begins, and which is which."""
    layout, d_head, n = picture.parts["layout"], facts.steps.d_head, concat.values.shape[1]
    there = range(-(-n // d_head))
    step = -(-len(there) // HEADS_NAMED)
    names = {
        "tickvals": [(head + 0.5) * d_head - 0.5 for head in there[::step]],
        "ticktext": [_("head {head}").format(head=from_one(head)) for head in there[::step]],
        **{"showticklabels": True, "side": "top", "tickangle": 0},
    }
    place = Place(1, (0, 0), (0, 0))
    between = [
        outlined(place, head * d_head, 0, d_head, len(concat.rows), thick=head == facts.head)
        for head in there
    ]
    lines = [{**each, "line": {**each["line"], "color": palette.RESIDUAL}} for each in between]
    shapes = [*lines, *layout["shapes"]]
    return picture.with_layout(shapes=shapes, xaxis={**layout["xaxis"], **names})


def _read_by(facts: HeadFacts) -> str:
    """What a step changes; bias and mask are put on what the step before them gave."""
    before = ("capped", "scaled") if facts.step == "bias" else ("biased", "capped", "scaled")
    there = (name for name in before if getattr(facts.steps, name) is not None)
    return READS.get(facts.step) or next(there)


def side_by_side(
    matrices: Sequence[Matrix],
    chosen: Chosen,
    numbers: Sequence[int],
    *,
    title: str,
    size: Size,
    _: Translate,
) -> Picture:
    """Matrices with the same rows: what goes in, and what comes out of a step on each cell.

    The pinned row is outlined in each, and the chosen cell where the columns are keys. Scores and
    weights have a scale each, below; all else has one in common.
    """
    is_stacked = size.is_in_full and matrices[0].name == "concat"
    below = [Place(1, (0, 1), (0.6, 1)), Place(2, (0, 1), (0, 0.4))]
    places = below if is_stacked else _beside(matrices)
    tokens, is_alone = matrices[0].rows, len(matrices) == 1  # named by the title
    top = max(room_above(*each, size) for each in zip(matrices, places, strict=True))
    traces, most = [], common_scale(matrices)
    bars = _bars(matrices, places, size, _)
    foot = BAR if bars[0] or size.is_narrow else 0
    layout: dict[str, Any] = {}
    for i, (matrix, place) in enumerate(zip(matrices, places, strict=True)):
        colors = heat(matrix, place, _, bar=bars[i], most=most)
        traces.append({**colors, **written_result(matrix, size)})
        traces += outliers(matrix, place)
        traces += cells(matrix, place, returns(matrix, numbers), _)
        sums = {} if is_alone else row_sums(matrix)
        rows = query_names(tokens, is_stacked or i == 0) | sums
        layout |= axes(matrix, place, x=key_names(matrix, place, size), y=rows)
    marks = [
        mark
        for matrix, place in zip(matrices, places, strict=True)
        for mark in _marks(matrix, place, chosen)
    ]
    return figure(
        traces,
        title=title,
        height=height_of(len(tokens), size) + top + foot,
        margin=(top + size.room_for_title, 8 + foot),
        shapes=marks,
        annotations=[
            titled(f"<b>{matrix.symbol}</b>", place, shift=top - 34 if place.y[1] == 1 else 2)
            for matrix, place in zip(matrices, places, strict=True)
            if not is_alone
        ],
        **layout,
    )


def _beside(matrices: Sequence[Matrix]) -> list[Place]:
    """Places from left to right."""
    width = 1 / len(matrices)
    end = SUMS_FROM if matrices[-1].is_weights and len(matrices) > 1 else 1
    return [
        Place(i + 1, (end * i * width + (GAP if i else 0), end * (i + 1) * width), (0, 1))
        for i in range(len(matrices))
    ]


def _bars(
    matrices: Sequence[Matrix], places: Sequence[Place], size: Size, _: Translate
) -> list[dict[str, Any] | None]:
    """Where the scale of each stands; of matrices on one scale it is that of the last."""
    has_own = any(matrix.end is not None for matrix in matrices)
    if len({matrix.is_weights for matrix in matrices}) == 1 and not has_own:
        bar = bar_below(Place(1, (0, 1), (0, 1))) if size.is_narrow else {}
        return [*[None] * (len(matrices) - 1), named_scale(matrices[-1], bar, _)]
    return [named_scale(m, bar_below(place), _) for m, place in zip(matrices, places, strict=True)]


def _marks(matrix: Matrix, place: Place, chosen: Chosen) -> list[dict[str, Any]]:
    """The pinned row (of K and V the chosen key's), and the chosen cell."""
    n_columns = matrix.values.shape[1]
    if matrix.name in ("k", "v"):
        return [] if chosen.key is None else [outlined(place, 0, chosen.key, n_columns, 1)]
    row = [outlined(place, 0, chosen.query, n_columns, 1)]
    column = chosen.key if matrix.name in SQUARES else chosen.feature
    if column is None or matrix.name in ("q", "concat"):
        return row
    return [*row, outlined(place, column, chosen.query, 1, 1, thick=True)]
