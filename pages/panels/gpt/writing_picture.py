"""Tokens that were written: how probable each was, and what the heads read to make one."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from pages.figures.counting import from_one
from pages.figures.theme import (
    ATTENTION,
    BEFORE,
    EDGE,
    EMBEDDING,
    TITLE,
    TITLE_AND_LEGEND,
    Picture,
    Translate,
    figure,
    legend,
    token_label,
)
from pages.figures.token_axis import columns, hover_names, label_room, token_ticks
from pages.figures.weights import codes, outline, weight_map

HEIGHT, LABELS = 330, 20


def growth(steps: pd.DataFrame, *, _: Translate) -> Picture:
    """Bytes of the cache over the tokens of the text: dots are measured, the line is the formula.

    `steps`: n_read, n_kept, measured, formula, every_head (bytes).
    """
    x = steps["n_read"].tolist()
    lines = [_line(x, steps["formula"], _("formula"), ATTENTION, "solid")]
    if (steps["every_head"] > steps["formula"]).any():
        name = _("formula, if n_kv_heads were n_heads")
        lines.append(_line(x, steps["every_head"], name, BEFORE, "dot"))
    measured = {
        "type": "scatter",
        "mode": "markers",
        "x": x,
        "y": steps["measured"].tolist(),
        "name": _("measured"),
        "marker": {"color": ATTENTION, "size": 7},
        "customdata": steps[["n_kept"]].to_numpy().tolist(),
        "hovertemplate": _("{tokens} tokens kept: {bytes} bytes").format(
            tokens="%{customdata[0]}", bytes="%{y:,}"
        )
        + "<extra></extra>",
    }
    return _over_tokens([*lines, measured], _("What the cache takes"), _("bytes"), ",", _)


def times(steps: pd.DataFrame, *, _: Translate) -> Picture:
    """Milliseconds for each token, with and without the cache: measured.

    `steps`: n_read, with_cache, without (milliseconds).
    """
    x = steps["n_read"].tolist()
    traces = [
        _points(x, steps["without"], _("without the cache"), BEFORE, "diamond"),
        _points(x, steps["with_cache"], _("with the cache"), ATTENTION, "circle"),
    ]
    return _over_tokens(traces, _("What the cache saves"), _("milliseconds per token"), ".3~f", _)


def _line(x: list[int], y: pd.Series, name: str, color: str, dash: str) -> dict[str, Any]:
    line = {"color": color, "width": 1.5, "dash": dash}
    drawn = {"type": "scatter", "mode": "lines", "x": x, "y": y.tolist(), "line": line}
    return {**drawn, "name": name, "hoverinfo": "skip"}


def _points(x: list[int], y: pd.Series, name: str, color: str, symbol: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": x,
        "y": y.round(4).tolist(),
        "name": name,
        "line": {"color": color, "width": 1},
        "marker": {"size": 6, "symbol": symbol},
        "hovertemplate": "%{y:.2f} ms<extra></extra>",
    }


def _over_tokens(
    traces: list[dict[str, Any]], title: str, unit: str, digits: str, _: Translate
) -> Picture:
    return figure(
        traces,
        title=title,
        height=HEIGHT,
        margin=(TITLE_AND_LEGEND + LABELS, EDGE),
        **legend(),
        xaxis={
            "title": {"text": _("tokens of the text that were read")},
            "tickformat": "d",
            "fixedrange": True,
        },
        yaxis={
            "title": {"text": unit},
            "tickformat": digits,
            "rangemode": "tozero",
            "fixedrange": True,
        },
    )


NAMES, KEYS, LAYERS = 24, 24, 16
BARS, BOTTOM, TOP = 190, 30, 1.05
ROW_TALL, ROW_FLAT, ROOM = 26, 3, 320


def chances(tokens: pd.DataFrame, *, chosen: int, _: Translate) -> Picture:
    """How probable each new token was when it was drawn; a click returns its number from 0.

    `tokens`: label, probability, model_probability.
    """
    labels, numbers = list(tokens["label"]), list(range(len(tokens)))
    bars = {
        "type": "bar",
        "x": numbers,
        "y": tokens["probability"].tolist(),
        "name": _("sampling probability"),
        "marker": {"color": EMBEDDING},
        "selected": {"marker": {"opacity": 1}},
        "unselected": {"marker": {"opacity": 1}},
        "hoverinfo": "skip",
    }
    own = {
        "type": "scatter",
        "mode": "markers",
        "x": numbers,
        "y": tokens["model_probability"].tolist(),
        "name": _("the model's own"),
        "marker": {"color": BEFORE, "symbol": "line-ew-open", "size": 9, "line": {"width": 2}},
        "hoverinfo": "skip",
    }
    room = label_room(labels)
    return figure(
        [bars, own, columns([_chance(row, _) for row in tokens.itertuples()], numbers, TOP)],
        title=_("Probability of each new token"),
        height=TITLE_AND_LEGEND + BARS + room,
        margin=(TITLE_AND_LEGEND, room),
        barmode="overlay",
        **legend(),
        xaxis={**token_ticks(labels, NAMES), "tickangle": -55, "automargin": False},
        yaxis={
            "title": {"text": _("probability")},
            "tickformat": ".0%",
            "range": [0, TOP],
            "fixedrange": True,
        },
        shapes=[outline(chosen - 0.5, 0, 1, TOP)],
    )


def _chance(row: Any, _: Translate) -> str:
    text = _("{number} · {token}: sampled with {chance:.2%}, the model's own {own:.2%}")
    return text.format(
        number=row.Index + 1,
        token=token_label(row.label),
        chance=row.probability,
        own=row.model_probability,
    )


def reads(weights: np.ndarray, keys: Sequence[str], *, _: Translate) -> Picture:
    """What every head of every layer read: a row a head, a column a token.

    `weights`: (n_layers, n_heads, key); `keys`: the tokens that were read.
    """
    n_layers, n_heads, n_keys = weights.shape
    n_rows, room = n_layers * n_heads, label_room(keys)
    flat = weights.reshape(n_rows, n_keys).astype(np.float32)
    cells = weight_map(
        codes(flat),
        _,
        hoverinfo="all",
        customdata=flat,
        hovertemplate=_hover(_),
        xaxis="x2",
        yaxis="y2",
        xgap=1 if n_keys <= 2 * KEYS else 0,
    )
    x_range, y_range = [-0.5, n_keys - 0.5], [n_rows - 0.5, -0.5]
    return figure(
        [_nothing(), cells],
        title=_("What each head attended to"),
        height=TITLE + room + BOTTOM + n_rows * _row(n_rows),
        margin=(TITLE + room, BOTTOM),
        xaxis={
            **token_ticks(keys, KEYS),
            "side": "top",
            "tickangle": -55,
            "range": x_range,
            "automargin": False,
        },
        yaxis={**_layer_ticks(n_layers, n_heads, _), "range": y_range},
        xaxis2={**hover_names(keys), "overlaying": "x", "range": x_range},
        yaxis2={**_head_names(n_layers, n_heads, _), "overlaying": "y", "range": y_range},
        shapes=[_between(layer * n_heads - 0.5, n_keys) for layer in range(1, n_layers)],
    )


def _row(n_rows: int) -> int:
    """Pixels of a row: the fewer there are, the taller."""
    return max(ROW_FLAT, min(ROW_TALL, ROOM // n_rows))


def _hover(_: Translate) -> str:
    weight = _("weight {weight}").format(weight="%{customdata:.3f}")
    return "%{y} → %{x}<br>" + weight + "<extra></extra>"


def _nothing() -> dict[str, Any]:
    """Axes without a trace are not drawn."""
    return {"type": "scatter", "x": [None], "y": [None], "hoverinfo": "skip"}


def _layer_ticks(n_layers: int, n_heads: int, _: Translate) -> dict[str, Any]:
    """The middle of each layer's rows; not every one where there are many."""
    shown = range(0, n_layers, -(-n_layers // LAYERS))
    return {
        "tickvals": [(layer + 0.5) * n_heads - 0.5 for layer in shown],
        "ticktext": [_("layer {layer}").format(layer=from_one(layer)) for layer in shown],
        "ticks": "",
        "fixedrange": True,
        "showgrid": False,
        "zeroline": False,
    }


def _head_names(n_layers: int, n_heads: int, _: Translate) -> dict[str, Any]:
    """Every row has its name under the cursor."""
    text = _("layer {layer}, head {head}")
    names = [
        text.format(layer=from_one(layer), head=from_one(head))
        for layer in range(n_layers)
        for head in range(n_heads)
    ]
    rows = {"tickvals": list(range(len(names))), "ticktext": names, "showticklabels": False}
    return {**rows, "ticks": "", "fixedrange": True, "showgrid": False, "zeroline": False}


def _between(y: float, width: int) -> dict[str, Any]:
    """A line between two layers."""
    line = {"color": BEFORE, "width": 1}
    return {"type": "line", "x0": -0.5, "x1": width - 0.5, "y0": y, "y1": y, "line": line}
