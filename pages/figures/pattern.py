"""The attention pattern of one head, large."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pages.figures.counting import from_one
from pages.figures.theme import RESIDUAL, TITLE, Picture, Translate, figure
from pages.figures.token_axis import CROWDED, hover_names, label_room, token_ticks
from pages.figures.weights import outline, weight_map

NUMBERS_UP_TO, CROSSES_UP_TO, SUMS_UP_TO = 14, CROWDED, 64
KEY_LABELS, QUERY_LABELS = 24, 48
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
    traces = [weight_map(codes, _), *_cells(weights, first, _)]
    if n <= SUMS_UP_TO:
        traces.append(_row_sums(weights))
    width = [-0.5, n - 0.5 + (0.09 * n if n <= SUMS_UP_TO else 0)]
    height = [n - 0.5, -0.5]
    return figure(
        traces,
        title=_("Head {head}: what each query attends to").format(head=from_one(head)),
        height=max(380, min(640, 130 + 26 * n)) + label_room(tokens),
        margin=(TITLE + label_room(tokens), KEY_TITLE),
        xaxis={
            **token_ticks(tokens, KEY_LABELS),
            "side": "top",
            "range": width,
            "tickangle": -55,
            "automargin": False,
        },
        yaxis={
            **token_ticks(tokens, QUERY_LABELS),
            "title": {"text": _("query: attends")},
            "range": height,
        },
        xaxis2={**hover_names(tokens), "overlaying": "x", "range": width},
        yaxis2={**hover_names(tokens), "overlaying": "y", "range": height},
        shapes=[outline(-0.5, pinned - first - 0.5, n, 1)],
        annotations=[_key_title(_), *(_numbers(weights) if n <= NUMBERS_UP_TO else [])],
    )


def _key_title(_: Translate) -> dict[str, Any]:
    """Below the map, since the tokens stand above it."""
    place = {"x": 0.5, "xref": "paper", "y": 0, "yref": "paper", "yanchor": "top"}
    return {**place, "text": _("key: attended to"), "showarrow": False}


def _cells(weights: np.ndarray, first: int, _: Translate) -> list[dict[str, Any]]:
    """Invisible markers over the cells: what can be clicked and hovered."""
    query, key = np.nonzero(~np.isnan(weights))
    masked_query, masked_key = np.nonzero(np.isnan(weights))
    seen = {
        "customdata": np.stack((query + first, weights[query, key]), axis=1).astype(np.float32),
        "hovertemplate": "%{y} → %{x}<br>"
        + _("weight {weight}").format(weight="%{customdata[1]:.3f}")
        + "<extra></extra>",
    }
    masked = {
        "customdata": (masked_query + first)[:, None].astype(np.float32),
        "hovertemplate": "%{y} → %{x}<br>" + _("masked") + "<extra></extra>",
    }
    crosses = 0.5 if len(weights) <= CROSSES_UP_TO else 0
    return [
        cell_markers(key, query, seen),
        cell_markers(masked_key, masked_query, masked, symbol="x-thin", opacity=crosses),
    ]


def cell_markers(
    x: np.ndarray,
    y: np.ndarray,
    more: dict[str, Any],
    *,
    symbol: str = "square",
    opacity: float = 0,
) -> dict[str, Any]:
    """Markers over cells, on the axes that name every token; unseen where opacity is 0."""
    kept = {"marker": {"opacity": opacity}}
    look = {"symbol": symbol, "opacity": opacity, "size": 5 if opacity else 12}
    return {
        "type": "scattergl",
        "mode": "markers",
        "xaxis": "x2",
        "yaxis": "y2",
        "x": x.astype(np.uint16),
        "y": y.astype(np.uint16),
        "marker": {**look, "line": {"width": 1, "color": RESIDUAL}},
        "selected": kept,
        "unselected": kept,
        **more,
    }


def _row_sums(weights: np.ndarray) -> dict[str, Any]:
    n = len(weights)
    sums = np.nansum(weights, axis=1)
    return {
        "type": "scatter",
        "mode": "text",
        "x": [n - 0.4] * n,
        "y": list(range(n)),
        "text": [f"Σ {row_sum:.3f}" for row_sum in sums],
        "textposition": "middle right",
        "textfont": {"size": 10 if n <= 32 else 7},
        "cliponaxis": False,
        "hoverinfo": "skip",
    }


def _numbers(weights: np.ndarray) -> list[dict[str, Any]]:
    """Weights in their cells, where there is room."""
    return [
        {
            "x": int(key),
            "y": int(query),
            "text": f"{weights[query, key]:.2f}".removeprefix("0"),
            "showarrow": False,
            "font": {"size": 10, "color": "#ffffff" if weights[query, key] > 0.55 else None},
        }
        for query, key in np.argwhere(~np.isnan(weights))
    ]
