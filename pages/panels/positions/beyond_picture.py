"""Texts longer than a model was made for: where attention goes, and what it costs."""

from collections.abc import Mapping
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd

from blocks.inspection.beyond_length import BeyondFacts, LossFacts
from blocks.model.kinds import PositionKind
from pages.figures import marks, palette
from pages.figures.counting import from_one
from pages.figures.table_rows import each_row
from pages.figures.theme import (
    EDGE,
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


def by_distance(facts: BeyondFacts, kind: str, *, _: Translate) -> Picture:
    """Mean weight of a key by its distance, for texts of several lengths; both logarithmic.

    Distance counts from 1 (the query itself), so that it has a logarithm.
    """
    traces = [
        _curve(bands, _("{n} tokens ({factor}×)").format(n=seq_len, factor=factor), look, _)
        for (factor, seq_len, bands), look in zip(facts.bands, cycle(LOOKS), strict=False)
    ]
    title = _("{kind}, head {head}: where the last query looks")
    edge = facts.trained_len + 1
    return figure(
        traces,
        title=title.format(kind=kind, head=from_one(facts.head)),
        height=HEIGHT + TITLE_AND_LEGEND,
        margin=(TITLE_AND_LEGEND, EDGE),
        xaxis={
            "title": _("tokens back + 1 (1: the query itself)"),
            "type": "log",
            "tickvals": [2**i for i in range(12)],
        },
        yaxis={
            "title": _("mean weight per key"),
            "type": "log",
            "exponentformat": "power",
            "dtick": 1,
        },
        shapes=[marks.upright(edge)],
        annotations=[_edge_name(float(np.log10(edge)), facts.trained_len, y=0.98, yanchor="top")],
        **legend(),
    )


def _curve(bands: pd.DataFrame, name: str, look: tuple[float, str], _: Translate) -> dict[str, Any]:
    seen, (alpha, dash) = bands[bands["weight"] > 0], look
    hover = _("{least} to {most} tokens back: {weight} per key").format(
        least="%{customdata[0]:.0f}", most="%{customdata[1]:.0f}", weight="%{y:.4f}"
    )
    return marks.line(
        seen["distance"] + 1,
        seen["weight"],
        customdata=seen[["least", "most"]].to_numpy(np.float32),
        name=name,
        line={"color": faint(palette.ATTENTION, alpha), "dash": dash, "width": 2.5},
        hovertemplate=f"{name}<br>{hover}<extra></extra>",
    )


def by_length(facts: BeyondFacts, names: Mapping[PositionKind, str], *, _: Translate) -> Picture:
    """Entropy of each kind at each length; the kind that is looked at in colour."""
    spreads = facts.spreads
    traces = [
        _kind(rows, names[PositionKind(str(kind))], symbol, is_shown=kind == facts.kind)
        for (kind, rows), symbol in zip(
            spreads.groupby("kind", sort=False), cycle(SYMBOLS), strict=False
        )
    ]
    lengths = spreads.drop_duplicates("factor").sort_values("factor")
    y = {"title": _("normalized entropy (H / log n)"), "tickformat": ".0%"}
    title = _("Attention entropy of the last query, head {head}").format(head=from_one(facts.head))
    return figure(
        traces,
        title=title,
        height=HEIGHT + TITLE_AND_LEGEND,
        margin=(TITLE + 8, EDGE),
        xaxis={
            "title": _("tokens in the text"),
            "type": "log",
            "tickmode": "array",
            "tickvals": lengths["seq_len"].tolist(),
            "ticktext": [f"{row.seq_len} · {row.factor}×" for row in each_row(lengths)],
        },
        yaxis={**y, "range": [0, 1.04]},
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": -0.24, "yanchor": "top"},
    )


def _kind(rows: pd.DataFrame, name: str, symbol: str, *, is_shown: bool) -> dict[str, Any]:
    color = palette.ATTENTION if is_shown else faint(palette.BEFORE, 0.85)
    return marks.line(
        rows["seq_len"],
        rows["entropy_share"],
        mode="lines+markers",
        name=name,
        line={"color": color, "width": 3 if is_shown else 1.5},
        marker={"symbol": symbol, "size": 10, "color": color},
        hovertemplate=f"{name}<br>%{{x}}: %{{y:.1%}}<extra></extra>",
    )


def loss(facts: LossFacts, kind: str, *, _: Translate) -> Picture:
    """Bits per token by position, within two standard errors, the trained length marked."""
    bands, edge = facts.bands, facts.trained_len + 0.5
    is_reached = edge <= bands["last"].max() + 1
    high, low = bands["bits"] + 2 * bands["error"], bands["bits"] - 2 * bands["error"]
    hover = _("positions {first} to {last}: {bits} bits per token, {n} tokens").format(
        first="%{customdata[0]:.0f}",
        last="%{customdata[1]:.0f}",
        bits="%{y:.3f}",
        n="%{customdata[2]:,.0f}",
    )
    line = marks.line(
        bands["position"],
        bands["bits"],
        mode="lines+markers",
        customdata=bands[["first", "last", "count"]].to_numpy(np.float32),
        name=_("mean"),
        line={"color": palette.HELD_OUT, "width": 2.5},
        marker={"size": 6, "color": palette.HELD_OUT},
        hovertemplate=f"{hover}<extra></extra>",
    )
    around = marks.band(
        bands["position"], low, high, palette.HELD_OUT, name=_("± 2 standard errors")
    )
    return figure(
        [around, line],
        title=_("Bits per token by position ({kind})").format(kind=kind),
        height=HEIGHT + TITLE_AND_LEGEND,
        margin=(TITLE_AND_LEGEND, EDGE),
        xaxis={
            "title": _("position in the text (from 1)"),
            "range": [0, float(bands["last"].max()) * 1.01],
        },
        yaxis={"title": _("bits per token"), "range": [0, 1.08 * float(high.max())]},
        shapes=[marks.upright(edge)] if is_reached else [],
        annotations=[_edge_name(edge, facts.trained_len)] if is_reached else [],
        **legend(),
    )


def _edge_name(x: float, trained_len: int, **more: Any) -> dict[str, Any]:
    """At the foot of the line, or where `more` says, to its left; `x` as the axis has it."""
    place = {"x": x, "xanchor": "right", "y": 0.02, "yref": "paper", "yanchor": "bottom"}
    return {**place, "text": f"L = {trained_len}", **more}
