"""Attention between two texts: one head large, one token in both texts, links against the truth."""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from pages.figures.cell_numbers import cell_numbers
from pages.figures.matrix import Matrix, Place, axes, heat, numbered, outlined
from pages.figures.theme import NORM, RESIDUAL, Picture, Translate, figure, plain, token_label
from pages.figures.token_axis import CROWDED, label_room, token_ticks
from pages.figures.token_matrix import Names, hatching, marks, token_matrix
from pages.figures.weights import MASKED_CODE, codes, weight_map

TOLD_FROM, SUMS_UP_TO = 0.05, 32
TRUE = NORM
Link = tuple[int, int]


def attention_map(
    weights: np.ndarray,
    names: Names,
    *,
    pinned: int | None,
    pinned_column: int | None,
    first: tuple[int, int] = (0, 0),
    sums: np.ndarray | None = None,
    _: Translate,
) -> Picture:
    """One head, query down and key across; a click on a cell returns its query and its key.

    `weights`: (query, key), NaN where masked; `pinned` and `pinned_column` count within them;
    `first`: which row and column of the texts the picture begins with; `sums`: what whole rows add
    up to, where only a part of them is drawn.
    """
    return token_matrix(
        _heat(weights, _),
        [
            *(_numbered_from(each, first) for each in _cells(weights, _)),
            *cell_numbers(_told(weights), weights),
        ],
        names,
        pinned=pinned,
        pinned_column=pinned_column,
        **_sums(weights, np.nansum(weights, axis=1) if sums is None else sums),
    )


def alignment_map(
    weights: np.ndarray,
    names: Names,
    *,
    found: Collection[Link],
    true: Collection[Link] | None,
    pinned: int | None,
    first: tuple[int, int] = (0, 0),
    _: Translate,
) -> Picture:
    """Target words down, source tokens across: a dot on what is found, a frame on what is true.

    Links are (row, column) within `weights`; `true` is None where it is not known. A click
    returns the numbers of the row and of the column.
    """
    return token_matrix(
        _heat(weights, _),
        [*(_numbered_from(each, first) for each in _cells(weights, _)), *_dots(weights, found, _)],
        names,
        pinned=pinned,
        shapes=[_frame(row, column) for row, column in sorted(true or ())],
    )


def legend_of_links(_: Translate, *, is_known: bool) -> str:
    """What stands in the title: a frame is a true link, a dot one that was found."""
    true = f"<span style='color:{TRUE}'>▢</span> " + _("true link")
    found = "● " + _("predicted link")
    return " · ".join((true, found) if is_known else (found,))


def _heat(weights: np.ndarray, _: Translate) -> dict[str, Any]:
    z = np.where(np.isnan(weights), MASKED_CODE, codes(np.nan_to_num(weights)))
    return weight_map(z.astype(np.uint8), _)


def _told(weights: np.ndarray) -> np.ndarray:
    """What is written in the cells: small weights are colour alone."""
    return np.where(np.nan_to_num(weights) < TOLD_FROM, np.nan, weights)


def _cells(weights: np.ndarray, _: Translate) -> list[dict[str, Any]]:
    is_masked = np.isnan(weights)
    said = _("weight {weight}").format(weight="%{customdata[2]:.3f}")
    masked = [hatching(is_masked, weights, _("masked"))] if is_masked.any() else []
    return [marks(~is_masked, weights, said), *masked]


def _numbered_from(trace: dict[str, Any], first: tuple[int, int]) -> dict[str, Any]:
    """Make a click return numbers counted in the whole texts."""
    shift = np.array([*first, 0], dtype=np.float32)
    return {**trace, "customdata": trace["customdata"] + shift}


def _sums(weights: np.ndarray, sums: np.ndarray) -> dict[str, Any]:
    """What each row adds up to, at its right, where there is room."""
    n_columns = weights.shape[1]
    if max(weights.shape) > SUMS_UP_TO:
        return {}
    place = {"x": n_columns - 0.4, "xanchor": "left", "showarrow": False, "font": {"size": 10}}
    said = [{**place, "y": i, "text": f"Σ {total:.3f}"} for i, total in enumerate(sums)]
    return {"annotations": said, "room_right": 0.3 + 0.11 * n_columns}


def _dots(weights: np.ndarray, found: Collection[Link], _: Translate) -> list[dict[str, Any]]:
    where = np.zeros(weights.shape, dtype=bool)
    for row, column in found:
        where[row, column] = True
    size = max(4, min(9, 200 // max(weights.shape)))
    said = _("predicted link: the largest weight of its row")
    dots = marks(where, weights, said, symbol="circle", color="#ffffff", opacity=1, size=size)
    line = {"width": 1.5, "color": RESIDUAL}
    return [{**dots, "marker": {**dots["marker"], "line": line}, "hoverinfo": "skip"}]


def _frame(row: int, column: int) -> dict[str, Any]:
    """A true link."""
    place = {"x0": column - 0.44, "x1": column + 0.44, "y0": row - 0.44, "y1": row + 0.44}
    return {"type": "rect", **place, "line": {"color": TRUE, "width": 2.5}}


class Strip(NamedTuple):
    """A text in a row: its tokens, the weight of each (NaN: masked), and what that is called.

    `pinned`: which of them is pinned, within what is drawn; `first`: the number of the first.
    """

    title: str
    tokens: Sequence[str]
    weights: np.ndarray
    pinned: int | None = None
    first: int = 0


STRIP, BETWEEN = 40, 34


def strips(source: Strip, target: Strip, *, title: str, _: Translate) -> Picture:
    """One token in both texts; a click on a token returns [number, 1 if of the target]."""
    rooms = [label_room(strip.tokens) for strip in (source, target)]
    height = 2 * (STRIP + BETWEEN) + sum(rooms)
    tops = (1.0, 1 - (STRIP + BETWEEN + rooms[0]) / height)
    traces: list[dict[str, Any]] = []
    layout: dict[str, Any] = {}
    shapes, titles = [], []
    for i, (strip, top) in enumerate(zip((source, target), tops, strict=True)):
        upper = top - BETWEEN / height
        place = Place(i + 1, (0, 1), (upper - STRIP / height, upper))
        matrix = Matrix("", "", "", strip.weights[None, :], ("",), strip.tokens, True)
        numbers = numbered(_told(matrix.values))
        traces += [{**heat(matrix, place, _), **numbers}, _strip_marks(strip, place, i, _)]
        layout |= axes(matrix, place, x=_strip_ticks(strip))
        titles.append(_strip_title(strip.title, place))
        if strip.pinned is not None:
            shapes.append(outlined(place, strip.pinned, 0, 1, 1, thick=True))
    top_margin = 36
    return figure(
        traces,
        title=plain(title),
        height=int(height + top_margin),
        margin=(top_margin, 4),
        shapes=shapes,
        annotations=titles,
        **layout,
    )


def _strip_ticks(strip: Strip) -> dict[str, Any]:
    ticks = token_ticks(strip.tokens, CROWDED + 8)
    return {**ticks, "showticklabels": True, "tickangle": -45, "automargin": False}


def _strip_title(text: str, place: Place) -> dict[str, Any]:
    at = {"x": 0, "xref": "paper", "y": place.y[1], "yref": "paper"}
    look = {"xanchor": "left", "yanchor": "bottom", "showarrow": False, "font": {"size": 12}}
    return {**at, **look, "text": text}


def _strip_marks(strip: Strip, place: Place, is_target: int, _: Translate) -> dict[str, Any]:
    unseen = {"marker": {"opacity": 0}}
    said = [
        f"{token_label(token)}<br>"
        + (_("masked") if np.isnan(x) else _("weight {weight}").format(weight=f"{x:.3f}"))
        for token, x in zip(strip.tokens, strip.weights, strict=True)
    ]
    n = len(strip.tokens)
    return {
        "type": "scatter",
        "mode": "markers",
        "x": list(range(n)),
        "y": [0] * n,
        "xaxis": f"x{place.suffix}",
        "yaxis": f"y{place.suffix}",
        "customdata": [[strip.first + i, is_target] for i in range(n)],
        "hovertext": said,
        "hoverinfo": "text",
        "marker": {"symbol": "square", "size": 30 if n <= CROWDED else 10, "opacity": 0},
        "selected": unseen,
        "unselected": unseen,
    }
