"""Texts longer than a model was made for: where attention goes, and what it costs."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pages.figures.theme import (
    ATTENTION,
    BEFORE,
    EDGE,
    HELD_OUT,
    TITLE,
    TITLE_AND_LEGEND,
    Picture,
    Translate,
    faint,
    figure,
    legend,
)

HEIGHT = 290
LOOKS = ((0.6, "dot"), (0.8, "dash"), (1.0, "solid"))
SYMBOLS = ("circle", "square", "diamond", "cross", "triangle-up")


class Curve(NamedTuple):
    """How one head spreads its weight in a text of one length: what it is called, and its bands.

    `bands`: distance, weight, least, most.
    """

    name: str
    bands: pd.DataFrame


def by_distance(curves: Sequence[Curve], *, trained_len: int, title: str, _: Translate) -> Picture:
    """Mean weight of a key by its distance, for texts of several lengths; both logarithmic.

    Distance counts from 1 (the query itself), so that it has a logarithm.
    """
    traces = [_curve(curve, *LOOKS[i % len(LOOKS)], _) for i, curve in enumerate(curves)]
    return figure(
        traces,
        title=title,
        height=HEIGHT + TITLE_AND_LEGEND,
        margin=(TITLE_AND_LEGEND, EDGE),
        xaxis={
            "title": {"text": _("distance + 1 (tokens back; 1 is the query itself)")},
            "type": "log",
            "fixedrange": True,
            "tickvals": [2**i for i in range(12)],
        },
        yaxis={
            "title": {"text": _("mean weight of a key")},
            "type": "log",
            "exponentformat": "power",
            "dtick": 1,
            "fixedrange": True,
        },
        shapes=[_edge(trained_len + 1)],
        annotations=[_edge_name(float(np.log10(trained_len + 1)), trained_len, _)],
        **legend(),
    )


def _curve(curve: Curve, alpha: float, dash: str, _: Translate) -> dict[str, Any]:
    seen = curve.bands[curve.bands["weight"] > 0]
    hover = _("{least} to {most} tokens back: {weight} per key").format(
        least="%{customdata[0]:.0f}", most="%{customdata[1]:.0f}", weight="%{y:.4f}"
    )
    return {
        "type": "scatter",
        "mode": "lines",
        "x": (seen["distance"] + 1).tolist(),
        "y": seen["weight"].tolist(),
        "customdata": seen[["least", "most"]].to_numpy(np.float32),
        "name": curve.name,
        "line": {"color": faint(ATTENTION, alpha), "dash": dash, "width": 2.5},
        "hovertemplate": f"{curve.name}<br>{hover}<extra></extra>",
    }


def by_length(table: pd.DataFrame, *, title: str, y: str, _: Translate) -> Picture:
    """One number for each kind and length; the kind that is looked at in colour.

    `table`: kind, label, factor, seq_len, value, is_shown.
    """
    traces = [
        _kind(of_kind, SYMBOLS[i % len(SYMBOLS)])
        for i, (_kind_name, of_kind) in enumerate(table.groupby("kind", sort=False))
    ]
    lengths = table.drop_duplicates("factor").sort_values("factor")
    return figure(
        traces,
        title=title,
        height=HEIGHT + TITLE_AND_LEGEND,
        margin=(TITLE + 8, EDGE),
        xaxis={
            "title": {"text": _("tokens in the text")},
            "type": "log",
            "tickmode": "array",
            "tickvals": lengths["seq_len"].tolist(),
            "ticktext": [f"{row.seq_len} · {row.factor}×" for row in lengths.itertuples()],
            "fixedrange": True,
        },
        yaxis={"title": {"text": y}, "range": [0, 1.04], "tickformat": ".0%", "fixedrange": True},
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": -0.24, "yanchor": "top"},
    )


def _kind(rows: pd.DataFrame, symbol: str) -> dict[str, Any]:
    label, is_shown = rows["label"].iloc[0], bool(rows["is_shown"].iloc[0])
    color = ATTENTION if is_shown else faint(BEFORE, 0.85)
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": rows["seq_len"].tolist(),
        "y": rows["value"].tolist(),
        "name": label,
        "line": {"color": color, "width": 3 if is_shown else 1.5},
        "marker": {"symbol": symbol, "size": 10, "color": color},
        "hovertemplate": f"{label}<br>%{{x}}: %{{y:.1%}}<extra></extra>",
    }


def loss(bands: pd.DataFrame, *, trained_len: int, title: str, _: Translate) -> Picture:
    """Bits a token by position, within two standard errors, the trained length marked.

    `bands`: position, first, last, bits, error, count.
    """
    x = bands["position"].tolist()
    high, low = bands["bits"] + 2 * bands["error"], bands["bits"] - 2 * bands["error"]
    band = {
        "type": "scatter",
        "mode": "lines",
        "x": x + x[::-1],
        "y": [*high, *low[::-1]],
        "fill": "toself",
        "fillcolor": faint(HELD_OUT, 0.2),
        "line": {"width": 0},
        "name": _("± 2 standard errors"),
        "hoverinfo": "skip",
    }
    hover = _("positions {first} to {last}: {bits} bits, {n} tokens").format(
        first="%{customdata[0]:.0f}",
        last="%{customdata[1]:.0f}",
        bits="%{y:.3f}",
        n="%{customdata[2]:,.0f}",
    )
    line = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": x,
        "y": bands["bits"].tolist(),
        "customdata": bands[["first", "last", "count"]].to_numpy(np.float32),
        "name": _("validation"),
        "line": {"color": HELD_OUT, "width": 2.5},
        "marker": {"size": 6, "color": HELD_OUT},
        "hovertemplate": f"{hover}<extra></extra>",
    }
    return figure(
        [band, line],
        title=title,
        height=HEIGHT + TITLE_AND_LEGEND,
        margin=(TITLE_AND_LEGEND, EDGE),
        xaxis={
            "title": {"text": _("position in the text (from 1)")},
            "range": [0, float(bands["last"].max()) * 1.01],
            "fixedrange": True,
        },
        yaxis={
            "title": {"text": _("bits per token")},
            "range": [0, 1.08 * float(high.max())],
            "fixedrange": True,
        },
        shapes=[_edge(trained_len + 0.5)],
        annotations=[_edge_name(trained_len + 0.5, trained_len, _)],
        **legend(),
    )


def _edge(x: float) -> dict[str, Any]:
    place = {"x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper"}
    return {"type": "line", **place, "line": {"color": BEFORE, "width": 2, "dash": "dash"}}


def _edge_name(x: float, trained_len: int, _: Translate) -> dict[str, Any]:
    """At the foot or head of the line, to its left; `x` as the axis has it."""
    text = _("trained length {n}").format(n=trained_len)
    place = {"x": x, "xanchor": "right", "y": 0.02, "yref": "paper", "yanchor": "bottom"}
    return {**place, "text": text, "showarrow": False}
