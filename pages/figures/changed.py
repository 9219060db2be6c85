"""How the output moved when something inside was changed: at each token, and for one of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from pages.figures.theme import (
    BEFORE,
    EMBEDDING,
    TITLE,
    TITLE_AND_LEGEND,
    Picture,
    Translate,
    figure,
    legend,
    token_label,
)
from pages.figures.token_axis import columns, label_room, token_ticks
from pages.figures.weights import outline

NAMES, BARS, ROW, BOTTOM = 24, 210, 26, 44
LEAST_SCALE = 1e-6


def tokens(
    moved: Sequence[float], labels: Sequence[str], *, unit: str, pinned: int, _: Translate
) -> Picture:
    """How far the output at each token moved, in `unit`; a click returns the token's position."""
    n, room = len(labels), label_room(labels)
    most = 1.1 * max(LEAST_SCALE, *moved)
    kept = {"marker": {"opacity": 1}}
    bar = {
        "type": "bar",
        "x": list(range(n)),
        "y": list(moved),
        "marker": {"color": EMBEDDING},
        "hoverinfo": "skip",
        "selected": kept,
        "unselected": kept,
    }
    hovers = [
        f"{i + 1} · {token_label(label)}: {value:.4g} {unit}"
        for i, (label, value) in enumerate(zip(labels, moved, strict=True))
    ]
    return figure(
        [bar, columns(hovers, list(range(n)), most)],
        title=_("Change of the output at each token"),
        height=TITLE + BARS + room,
        margin=(TITLE, room),
        barmode="overlay",
        xaxis={**token_ticks(labels, NAMES), "tickangle": -55, "automargin": False},
        yaxis={"title": {"text": unit}, "range": [0, most], "fixedrange": True},
        shapes=[outline(pinned - 0.5, 0, 1, most)],
    )


def candidates(table: pd.DataFrame, *, token: str, _: Translate) -> Picture:
    """The likeliest tokens before (hollow) and after (filled), joined by a line.

    `table`: label, p_before, p_after, delta_logit; `token`: what is read at this position.
    """
    rows = list(range(len(table)))
    before, after = table["p_before"], table["p_after"]
    return figure(
        [
            _joined(before, after),
            _dots(before, rows, _("untouched"), "circle-open", BEFORE),
            _dots(after, rows, _("changed"), "circle", EMBEDDING, _hovers(table, _)),
        ],
        title=_("Predictions at {token}").format(token=token_label(token)),
        height=TITLE_AND_LEGEND + BOTTOM + ROW * len(table),
        margin=(TITLE_AND_LEGEND, BOTTOM),
        **legend(),
        xaxis={
            "title": {"text": _("probability")},
            "tickformat": ".0%",
            "range": [-0.02, 1.08 * max(0.05, before.max(), after.max())],
            "fixedrange": True,
            "zeroline": False,
        },
        yaxis={
            "tickvals": rows,
            "ticktext": [token_label(label) for label in table["label"]],
            "range": [len(table) - 0.5, -0.5],
            "fixedrange": True,
        },
    )


def _joined(before: pd.Series, after: pd.Series) -> dict[str, Any]:
    n = len(before)
    x = np.stack((before, after, np.full(n, np.nan)), axis=1).ravel()
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [None if np.isnan(value) else float(value) for value in x],
        "y": np.repeat(np.arange(n), 3).tolist(),
        "line": {"color": BEFORE, "width": 1.5},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _dots(
    x: pd.Series, y: list[int], name: str, symbol: str, color: str, hovers: list[str] | None = None
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": x.tolist(),
        "y": y,
        "marker": {"symbol": symbol, "size": 11, "color": color, "line": {"width": 2}},
        "hovertext": hovers,
        "hoverinfo": "text" if hovers else "skip",
    }


def _hovers(table: pd.DataFrame, _: Translate) -> list[str]:
    text = _("{token}: {before:.2%} → {after:.2%}, logit {delta:+.2f}")
    return [
        text.format(
            token=token_label(row.label),
            before=row.p_before,
            after=row.p_after,
            delta=row.delta_logit,
        )
        for row in table.itertuples()
    ]
