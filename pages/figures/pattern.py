"""The attention pattern of one head, large."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pages.figures import marks, palette
from pages.figures.counting import from_one
from pages.figures.row_sums import BAR_ROOM, row_sums, scaled_below
from pages.figures.theme import TITLE, Picture, Translate, figure
from pages.figures.token_axis import CROWDED, hover_names, label_room, slanted, token_ticks
from pages.figures.weights import outline, weight_map

NUMBERS_UP_TO, CROSSES_UP_TO, SUMS_UP_TO = 14, CROWDED, 64
KEY_LABELS, QUERY_LABELS = 16, 48
KEY_TITLE = 26


def head_map(
    codes: np.ndarray,
    weights: np.ndarray,
    tokens: Sequence[str],
    *,
    head: int,
    pinned: int,
    first: int = 0,
    _: Translate,
) -> Picture:
    """One head, query down and key across; a click on a cell returns its query as customdata.

    `codes` and `weights`: (query, key), the latter NaN where masked; `pinned`: the query outlined;
    `first`: which token of the text the picture begins with.
    """
    n = len(tokens)
    traces = [scaled_below(weight_map(codes, _)), *cells(weights, first, weight_hover(_), _)]
    width, height = [-0.5, n - 0.5], [n - 0.5, -0.5]
    axes: dict[str, Any] = {}
    if n <= SUMS_UP_TO:
        sums = row_sums(np.nansum(weights, axis=1), height)
        traces, axes = [*traces, sums.trace], {"yaxis3": sums.axis}
    return figure(
        traces,
        title=_("Head {head}: what each query attends to").format(head=from_one(head)),
        height=max(380, min(640, 130 + 26 * n)) + label_room(tokens) + BAR_ROOM,
        margin=(TITLE + label_room(tokens), KEY_TITLE + BAR_ROOM),
        xaxis=slanted(tokens, KEY_LABELS, side="top", range=width),
        yaxis={**token_ticks(tokens, QUERY_LABELS), "title": _("query (attends)"), "range": height},
        xaxis2={**hover_names(tokens), "overlaying": "x", "range": width},
        yaxis2={**hover_names(tokens), "overlaying": "y", "range": height},
        **axes,
        shapes=[outline(-0.5, pinned - first - 0.5, n, 1)],
        annotations=[_key_title(_), *(_numbers(weights) if n <= NUMBERS_UP_TO else [])],
    )


def _key_title(_: Translate) -> dict[str, Any]:
    """Below the map, since the tokens stand above it."""
    place = {"x": 0.5, "xref": "paper", "y": 0, "yref": "paper", "yanchor": "top"}
    return {**place, "text": _("key (attended to)")}


def cells(values: np.ndarray, first: int, hover: str, _: Translate) -> list[dict[str, Any]]:
    """Unseen markers over the cells, to be clicked and hovered; crosses over the masked ones.

    `values`: (query, key), NaN where masked; `hover` says one, which is `customdata[1]`.
    """
    crosses = 0.5 if len(values) <= CROSSES_UP_TO else 0
    masked = np.isnan(values)
    return [
        _over(values, ~masked, first, hover),
        _over(values, masked, first, _("masked"), symbol="x-thin", opacity=crosses),
    ]


def _over(
    values: np.ndarray,
    where: np.ndarray,
    first: int,
    hover: str,
    *,
    symbol: str = "square",
    opacity: float = 0,
) -> dict[str, Any]:
    """Markers over cells, on the axes that name every token; unseen where opacity is 0."""
    query, key = np.nonzero(where)
    numbers = np.nan_to_num(values[query, key])
    look = {"symbol": symbol, "opacity": opacity, "size": 5 if opacity else 12}
    return marks.dots(
        key.astype(np.uint16),
        query.astype(np.uint16),
        type=marks.points_of(values.size),
        xaxis="x2",
        yaxis="y2",
        customdata=np.stack((query + first, numbers), axis=1).astype(np.float32),
        hovertemplate=f"%{{y}} → %{{x}}<br>{hover}<extra></extra>",
        marker={**look, "line": {"width": 1, "color": palette.RESIDUAL}},
        **marks.steady(opacity),
    )


def weight_hover(_: Translate) -> str:
    return _("weight {weight}").format(weight="%{customdata[1]:.3f}")


def _short(weight: float) -> str:
    """In as few signs as fit into a narrow cell: .25, and 1 for what is as good as 1."""
    return f"{weight:.2f}".removeprefix("0") if weight < 0.995 else "1"


def _numbers(weights: np.ndarray) -> list[dict[str, Any]]:
    """Weights in their cells, where there is room."""
    return [
        {
            "x": int(key),
            "y": int(query),
            "text": _short(weights[query, key]),
            "font": {"size": 10, "color": "#ffffff" if weights[query, key] > 0.55 else None},
        }
        for query, key in np.argwhere(~np.isnan(weights))
    ]
