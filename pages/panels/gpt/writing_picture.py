"""Tokens that were written: how probable each was, and what the heads read to make one."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from blocks.inspection.new_tokens import NewTokens
from blocks.text.written import Written
from pages.figures import marks, palette
from pages.figures.axes import plot_room, room_under_legend
from pages.figures.counting import from_one, head_called, told_apart
from pages.figures.theme import Picture, Translate, figure, token_label
from pages.figures.token_axis import columns, hover_names, label_room, slanted
from pages.figures.weights import BLANK_CODE, behind, codes, weight_map

NAMES, KEYS, LAYERS = 24, 24, 16
NO_MARK = {"type": "scatter", "x": [None], "y": [None], "hoverinfo": "skip"}  # draws axes
BARS, BOTTOM, TOP = 190, 30, 1.05
ROW_TALL, ROW_FLAT, ROOM = 26, 3, 320


def chances(facts: NewTokens, *, _: Translate) -> Picture | None:
    """How probable each new token was when it was drawn; a click returns its number from 0."""
    if not facts.found:
        return None
    labels, numbers = told_apart(facts.labels), list(range(len(facts.found)))
    bars = marks.bars(
        numbers,
        [token.probability for token in facts.found],
        name=_("sampling probability"),
        marker={"color": palette.EMBEDDING},
        **marks.steady(),
        hoverinfo="skip",
    )
    own = marks.dots(
        numbers,
        [token.model_probability for token in facts.found],
        name=_("model probability"),
        marker={"color": palette.BEFORE, "symbol": "line-ew-open", "size": 9, "line": {"width": 2}},
        hoverinfo="skip",
    )
    room = label_room(labels)
    hovers = [_chance(*each, _) for each in zip(numbers, labels, facts.found, strict=True)]
    return figure(
        [bars, own, columns(hovers, numbers, TOP)],
        title=_("Probability of each new token"),
        **room_under_legend(BARS, room),
        barmode="overlay",
        xaxis=slanted(labels, NAMES),
        yaxis={"title": _("probability"), "tickformat": ".0%", "range": [0, TOP]},
        shapes=[behind(facts.opened)],
    )


def _chance(number: int, label: str, token: Written, _: Translate) -> str:
    text = _("{number} · {token}: sampling probability {chance:.2%}, model probability {own:.2%}")
    return text.format(
        number=from_one(number),
        token=token_label(label),
        chance=token.probability,
        own=token.model_probability,
    )


def reads(facts: NewTokens, *, _: Translate) -> Picture | None:
    """What every head of every layer read: a row per head, a column per token, the last ones."""
    if not facts.found or not facts.run.config.attention_layers:
        return None
    first = facts.before_window
    weights, keys = facts.token.reads[..., first:], told_apart(facts.keys)[first:]
    n_layers, n_heads, n_keys = weights.shape
    layers = facts.run.config.attention_layers
    n_rows, room = n_layers * n_heads, label_room(keys)
    flat = weights.reshape(n_rows, n_keys).astype(np.float32)
    colors = codes(flat)
    colors[:, [key - first for key in facts.apart_keys if key >= first]] = BLANK_CODE
    cells = weight_map(
        colors,
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
        [NO_MARK, cells],
        title=_("What each head attended to"),
        **plot_room(n_rows * max(ROW_FLAT, min(ROW_TALL, ROOM // n_rows)), BOTTOM, above=room),
        xaxis=slanted(keys, KEYS, side="top", range=x_range),
        yaxis={**_layer_ticks(layers, n_heads, _), "range": y_range},
        xaxis2={**hover_names(keys), "overlaying": "x", "range": x_range},
        yaxis2={**_head_names(layers, n_heads, _), "overlaying": "y", "range": y_range},
        shapes=[_between(layer * n_heads - 0.5, n_keys) for layer in range(1, n_layers)],
    )


def _hover(_: Translate) -> str:
    weight = _("weight {weight}").format(weight="%{customdata:.3f}")
    return "%{y} → %{x}<br>" + weight + "<extra></extra>"


def _layer_ticks(layers: Sequence[int], n_heads: int, _: Translate) -> dict[str, Any]:
    """The middle of each layer's rows; not every one where there are many."""
    shown = range(0, len(layers), -(-len(layers) // LAYERS))
    return {
        "tickvals": [(row + 0.5) * n_heads - 0.5 for row in shown],
        "ticktext": [_("layer {layer}").format(layer=from_one(layers[row])) for row in shown],
        "ticks": "",
        "showgrid": False,
        "zeroline": False,
    }


def _head_names(layers: Sequence[int], n_heads: int, _: Translate) -> dict[str, Any]:
    names = [head_called(layer, head, _) for layer in layers for head in range(n_heads)]
    rows = {"tickvals": list(range(len(names))), "ticktext": names, "showticklabels": False}
    return {**rows, "ticks": "", "showgrid": False, "zeroline": False}


def _between(y: float, width: int) -> dict[str, Any]:
    line = {"color": palette.BEFORE, "width": 1}
    return {"type": "line", "x0": -0.5, "x1": width - 0.5, "y0": y, "y1": y, "line": line}
