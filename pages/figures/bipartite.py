"""Attention as lines: tokens left and right, a line for each weight that is large.

Lines are paths of the layout: one path holds all lines of a level, however many there are.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pages.figures.theme import ATTENTION, PINNED, TITLE, Picture, Translate, faint, figure
from pages.figures.token_axis import token_ticks

LEVELS = 8
LEAST = 0.02
LABELS = 64


def edges(weights: np.ndarray, most: int, pinned: int) -> np.ndarray:
    """The `most` largest weights of each query: (n, 2), query and key.

    Those under 0.02 are left out, but for the `pinned` query. `weights`: (query, key), NaN where
    masked.
    """
    found = np.nan_to_num(weights)
    largest = np.argsort(-found, axis=1, kind="stable")[:, :most]
    query = np.repeat(np.arange(len(found)), largest.shape[1])
    key = largest.ravel()
    is_drawn = (found[query, key] >= LEAST) | ((query == pinned) & (found[query, key] > 0))
    return np.stack((query[is_drawn], key[is_drawn]), axis=1)


def lines(
    weights: np.ndarray,
    tokens: Sequence[str],
    *,
    most: int,
    pinned: int,
    first: int = 0,
    title: str,
    _: Translate,
) -> Picture:
    """Tokens that read on the left, tokens that are read on the right.

    A line is as strong as its weight, in eight levels, one path each; those of the `pinned` query
    have the colour of what is pinned. Of a long text tokens from `first` on are drawn; `pinned` is
    counted within them. A click on a token returns its number in the text.
    """
    n = len(tokens)
    found = edges(weights, most, pinned)
    is_pinned = found[:, 0] == pinned
    height = [n - 0.5, -0.5]
    right = {**token_ticks(tokens, LABELS), "side": "right", "overlaying": "y", "range": height}
    bare = {"showticklabels": False, "ticks": "", "showgrid": False, "zeroline": False}
    return figure(
        _ends(weights, tokens, pinned, first, _),
        title=title,
        height=TITLE + 30 + max(240, min(1000, (26 if n <= 24 else 15) * n)),
        margin=(TITLE + 22, 8),
        xaxis={"range": [-0.02, 1.02], "fixedrange": True, **bare},
        yaxis={**token_ticks(tokens, LABELS), "range": height},
        yaxis2=right,
        shapes=[
            *_levels(weights, found[~is_pinned], ATTENTION),
            *_levels(weights, found[is_pinned], PINNED),
        ],
        annotations=[
            _column(_("query: reads"), 0, "left"),
            _column(_("key: is read"), 1, "right"),
        ],
    )


def _column(text: str, x: float, anchor: str) -> dict[str, Any]:
    place = {"x": x, "xref": "paper", "y": 1, "yref": "paper", "xanchor": anchor}
    return {**place, "yanchor": "bottom", "text": text, "showarrow": False, "font": {"size": 11}}


def _levels(weights: np.ndarray, found: np.ndarray, color: str) -> list[dict[str, Any]]:
    """One path a level: faint ones first, so that strong ones lie on top."""
    values = weights[found[:, 0], found[:, 1]]
    level = np.minimum((values * LEVELS).astype(int), LEVELS - 1)
    return [
        _level(found[level == i], faint(color, 0.12 + 0.88 * (i + 0.5) / LEVELS), 0.8 + 0.55 * i)
        for i in range(LEVELS)
        if (level == i).any()
    ]


def _level(found: np.ndarray, color: str, width: float) -> dict[str, Any]:
    """Curves that leave and arrive level, so that each can be followed."""
    curves = (f"M 0,{query} C 0.4,{query} 0.6,{key} 1,{key}" for query, key in found.tolist())
    line = {"color": color, "width": width}
    return {"type": "path", "path": " ".join(curves), "line": line, "layer": "below"}


def _ends(
    weights: np.ndarray, tokens: Sequence[str], pinned: int, first: int, _: Translate
) -> list[dict[str, Any]]:
    """What is clicked and hovered: each token on the left, and each on the right."""
    n = len(tokens)
    found = np.nan_to_num(weights)
    most, row, received = found.argmax(axis=1), found[pinned], found.sum(axis=0)
    names = token_ticks(tokens, n)["ticktext"]
    reads = _("reads most from {key}: {weight:.3f}")
    is_read = _("from the pinned token {weight:.3f}, from all together {total:.2f}")
    left = [
        f"{names[i]}<br>{reads.format(key=names[most[i]], weight=found[i, most[i]])}"
        for i in range(n)
    ]
    right = [f"{names[i]}<br>{is_read.format(weight=row[i], total=received[i])}" for i in range(n)]
    colors = [PINNED if i == pinned else ATTENTION for i in range(n)]
    numbers = range(first, first + n)
    return [_dots(0, left, colors, numbers), _dots(1, right, [ATTENTION] * n, numbers)]


def _dots(x: float, hovers: list[str], colors: list[str], numbers: range) -> dict[str, Any]:
    kept, n = {"marker": {"opacity": 1}}, len(numbers)
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [x] * n,
        "y": list(range(n)),
        "yaxis": "y2" if x else "y",
        "customdata": [[i] for i in numbers],
        "hovertext": hovers,
        "hoverinfo": "text",
        "marker": {"size": 8 if n <= 64 else 4, "color": colors},
        "selected": kept,
        "unselected": kept,
    }
