"""What the division by √d_head does: to random vectors of every width, and to one row."""

from typing import Any

import pandas as pd

from blocks.inspection.scaling import ScalingFacts
from pages.figures import marks, palette
from pages.figures.axes import log_sizes
from pages.figures.counting import head_called, told_apart
from pages.figures.theme import TITLE_AND_LEGEND, Picture, Translate, figure, legend, token_label
from pages.figures.token_axis import label_room, slanted

HEIGHT, BOTTOM = 330, 44
BAR_LABELS, MOST_KEYS = 24, 64


def curves(facts: ScalingFacts, *, _: Translate) -> Picture:
    """Entropy and largest weight against d_head, with the division and without.

    Lines are random vectors, points the head; the way that is looked at is strong.
    """
    name = head_called(facts.head.layer, facts.head.head, _)
    traces = [
        trace
        for scaled in (True, False)
        for column, axis in (("entropy_bits", ""), ("largest_weight", "2"))
        for trace in (
            _line(facts.random, column, axis, scaled, scaled == facts.is_scaled, _),
            _point(facts.both, column, axis, scaled, scaled == facts.is_scaled, name),
        )
    ]
    ticks = sorted({int(d_head) for d_head in facts.random["d_head"]})[1::2]
    x = {**log_sizes("d_head", ticks), "tickangle": 0, "automargin": False}
    y = {"rangemode": "tozero"}
    return figure(
        traces,
        title=_("Entropy and largest weight against d_head"),
        height=HEIGHT,
        margin=(TITLE_AND_LEGEND + 14, BOTTOM),
        **legend(),
        xaxis={**x, "domain": [0, 0.42], "anchor": "y"},
        xaxis2={**x, "domain": [0.6, 1], "anchor": "y2"},
        yaxis={**y, "title": _("entropy (bits)")},
        yaxis2={**y, "title": _("largest weight"), "anchor": "x2", "tickformat": ".0%"},
    )


def _state(is_scaled: bool, _: Translate) -> str:
    return _("divided by √d_head") if is_scaled else _("not divided")


def _color(is_scaled: bool) -> str:
    return palette.ATTENTION if is_scaled else palette.BEFORE


def _line(
    random: pd.DataFrame, column: str, axis: str, is_scaled: bool, is_strong: bool, _: Translate
) -> dict[str, Any]:
    rows = random[random["is_scaled"] == is_scaled]
    value = "%{y:.0%}" if axis else "%{y:.2f}"
    return marks.line(
        rows["d_head"].tolist(),
        rows[column].tolist(),
        mode="lines+markers",
        xaxis=f"x{axis}",
        yaxis=f"y{axis}",
        name=_("random q and k, {state}").format(state=_state(is_scaled, _)),
        showlegend=not axis,
        line={"color": _color(is_scaled), "width": 3 if is_strong else 1.5},
        marker={"size": 6 if is_strong else 4, "color": _color(is_scaled)},
        hovertemplate=f"d_head %{{x}}: {value}<extra></extra>",
    )


def _point(
    head: pd.DataFrame, column: str, axis: str, is_scaled: bool, is_strong: bool, name: str
) -> dict[str, Any]:
    rows = head[head["is_scaled"] == is_scaled]
    value = "%{y:.0%}" if axis else "%{y:.2f}"
    return marks.dots(
        rows["d_head"].tolist(),
        rows[column].tolist(),
        xaxis=f"x{axis}",
        yaxis=f"y{axis}",
        name=name,
        showlegend=is_strong and not axis,
        cliponaxis=False,
        marker={
            "symbol": "diamond" if is_strong else "diamond-open",
            "size": 13,
            "color": palette.PINNED,
            "line": {"width": 1.5, "color": _color(is_scaled)},
        },
        hovertemplate=f"{name}: {value}<extra></extra>",
    )


def row(facts: ScalingFacts, *, _: Translate) -> Picture:
    """The weights of one query, a bar per key, and a line where the other way has them."""
    drawn = facts.head.drawn(MOST_KEYS).rows
    ways = (facts.is_scaled, not facts.is_scaled)
    weights, others = (facts.weights(way)[drawn] for way in ways)
    tokens = told_apart(facts.head.labels)[drawn]
    places = list(range(len(tokens)))
    bars = marks.bars(
        places,
        weights.tolist(),
        marker={"color": palette.ATTENTION},
        name=_("current setting"),
        customdata=[[token_label(token)] for token in tokens],
        hovertemplate="%{customdata[0]}: %{y:.3f}<extra></extra>",
    )
    lines = marks.dots(
        places,
        others.tolist(),
        name=_("other setting"),
        marker={
            "symbol": "line-ew",
            "size": max(4, min(22, 420 // max(1, len(tokens)))),
            "line": {"width": 2.5, "color": palette.BEFORE},
        },
        hovertemplate="%{y:.3f}<extra></extra>",
    )
    return figure(
        [bars, lines],
        title=_("What the pinned token attends to"),
        height=HEIGHT,
        margin=(TITLE_AND_LEGEND, label_room(tokens)),
        **legend(),
        bargap=0.25,
        xaxis=slanted(tokens, BAR_LABELS),
        yaxis={
            "title": _("weight"),
            "range": [0, 1.03 * max(1e-6, float(weights.max()), float(others.max()))],
        },
    )
