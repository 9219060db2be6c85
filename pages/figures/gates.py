"""What one token does in its strongest units, and how much is closed at each token."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from pages.figures.theme import (
    ATTENTION,
    BEFORE,
    FEED_FORWARD,
    NORM,
    TITLE,
    Picture,
    Translate,
    figure,
    token_label,
)
from pages.figures.token_axis import columns, label_room, token_ticks
from pages.figures.weights import outline

ROW, BOTTOM, HEADS, TALL = 26, 36, 24, 220
GAP = 0.08
NAMES = 40


def factors(
    units: pd.DataFrame,
    parts: Sequence[tuple[str, str]],
    *,
    token: str,
    selected: int,
    _: Translate,
) -> Picture:
    """The strongest units of one token, a row each, and what multiplies to `hidden` side by side.

    `units`: unit, and a column for each of `parts` (column, what it is called), the last being the
    product. A click on a bar returns its unit.
    """
    n, k = len(units), len(parts)
    width = (1 - GAP * (k - 1)) / k
    rows = list(units["unit"])
    traces = [_bars(units, column, i, k, _) for i, (column, _name) in enumerate(parts)]
    axes = {
        _axis("xaxis", i): {
            "domain": [i * (width + GAP), i * (width + GAP) + width],
            "anchor": "y",
            "fixedrange": True,
            "zeroline": True,
            "nticks": 3,
        }
        for i in range(k)
    }
    marks = [outline(0, rows.index(selected) - 0.5, 1, 1)] if selected in rows else []
    return figure(
        traces,
        title=_("The strongest units of {token}").format(token=token_label(token)),
        height=TITLE + HEADS + BOTTOM + ROW * n,
        margin=(TITLE + HEADS, BOTTOM),
        bargap=0.25,
        yaxis={
            "tickvals": list(range(n)),
            "ticktext": [str(unit) for unit in rows],
            "title": {"text": _("unit")},
            "range": [n - 0.5, -0.5],
            "fixedrange": True,
            "showgrid": False,
        },
        annotations=[_head(i, width, name) for i, (_column, name) in enumerate(parts)],
        shapes=[{**mark, "xref": "paper"} for mark in marks],
        **axes,
    )


def _axis(name: str, i: int) -> str:
    return name if i == 0 else f"{name}{i + 1}"


def _bars(units: pd.DataFrame, column: str, i: int, k: int, _: Translate) -> dict[str, Any]:
    color = FEED_FORWARD if i == k - 1 else (NORM, ATTENTION)[i]
    text = _("unit {unit}: {value}").format(unit="%{customdata[0]}", value="%{x:.3f}")
    whole = {"marker": {"opacity": 1}}
    return {
        "type": "bar",
        "orientation": "h",
        "x": units[column].tolist(),
        "y": list(range(len(units))),
        "xaxis": _axis("x", i),
        "customdata": [[int(unit)] for unit in units["unit"]],
        "marker": {"color": color},
        "selected": whole,
        "unselected": whole,
        "hovertemplate": text + "<extra></extra>",
    }


def _head(i: int, width: float, name: str) -> dict[str, Any]:
    place = {"x": i * (width + GAP) + width / 2, "xref": "paper", "y": 1, "yref": "paper"}
    return {**place, "yanchor": "bottom", "text": name, "showarrow": False, "font": {"size": 13}}


def closed(
    shares: Sequence[float], tokens: Sequence[str], numbers: Sequence[int], *, pinned: int, _
) -> Picture:
    """The share of units that are off at each token; a click returns the token's number.

    `numbers`: where each of `tokens` stands in the text, from 0; `pinned` is one of them or none.
    """
    room, places = label_room(tokens), list(range(len(tokens)))
    text = _("{number} · {token}: {share:.1%} of the units are off")
    hovers = [
        text.format(number=number + 1, token=token_label(token), share=share)
        for number, token, share in zip(numbers, tokens, shares, strict=True)
    ]
    bars = {
        "type": "bar",
        "x": places,
        "y": list(shares),
        "marker": {"color": BEFORE},
        "hoverinfo": "skip",
    }
    marks = [outline(numbers.index(pinned) - 0.5, 0, 1, 1)] if pinned in numbers else []
    return figure(
        [bars, columns(hovers, numbers, 1.0)],
        title=_("Units that are off, at each token"),
        height=TITLE + TALL + room,
        margin=(TITLE, room),
        barmode="overlay",
        bargap=0.1,
        xaxis={
            **token_ticks(tokens, NAMES),
            "tickangle": -55,
            "range": [-0.6, len(tokens) - 0.4],
            "automargin": False,
        },
        yaxis={
            "title": {"text": _("share of units")},
            "tickformat": ".0%",
            "range": [0, 1.02],
            "fixedrange": True,
        },
        shapes=marks,
    )
