"""The loss by position of five models that were trained on shorter texts."""

from collections.abc import Mapping
from typing import Any

from blocks.inspection.trained_lengths import LengthsFacts, ReadOn
from blocks.model.kinds import PositionKind
from pages.figures import marks, palette
from pages.figures.theme import TITLE_AND_LEGEND, Picture, Translate, figure, legend

HEIGHT, BOTTOM = 300, 44
LOOKS = {
    PositionKind.NONE: (palette.BEFORE, "circle"),
    PositionKind.SINUSOIDAL: (palette.FEED_FORWARD, "square"),
    PositionKind.LEARNED: (palette.EMBEDDING, "diamond"),
    PositionKind.ROPE: (palette.ATTENTION, "cross"),
    PositionKind.ALIBI: (palette.NORM, "triangle-up"),
}


def losses(facts: LengthsFacts, names: Mapping[PositionKind, str], *, _: Translate) -> Picture:
    """A line and a band for each kind, the trained length marked."""
    edge = facts.trained_len + 0.5
    traces = [trace for kind in facts.kinds for trace in _of_one(facts, kind, names[kind.kind], _)]
    lows, highs = (
        [value for kind in facts.kinds for value in getattr(kind, name)]
        for name in ("least", "most")
    )
    room = 0.06 * (max(highs) - min(lows))
    return figure(
        traces,
        title=_("Loss by position, trained on {n} characters").format(n=facts.trained_len),
        height=HEIGHT + TITLE_AND_LEGEND,
        margin=(TITLE_AND_LEGEND, BOTTOM),
        xaxis={"title": _("position in the text (from 1)"), "range": [0, facts.longest + 1]},
        yaxis={"title": _("bits per character"), "range": [min(lows) - room, max(highs) + room]},
        shapes=[marks.upright(edge)],
        annotations=[_edge_name(edge, facts.trained_len)],
        **legend(),
    )


def _of_one(
    facts: LengthsFacts, found: ReadOn, name: str, _: Translate
) -> tuple[dict[str, Any], dict[str, Any]]:
    color, symbol = LOOKS[found.kind]
    hover = _("position {position}: {bits} bits").format(position="%{x:.0f}", bits="%{y:.2f}")
    line = marks.line(
        facts.middles,
        found.mean,
        mode="lines+markers",
        name=name,
        line={"color": color, "width": 2.5},
        marker={"color": color, "symbol": symbol, "size": 7},
        hovertemplate=f"{name}<br>{hover}<extra></extra>",
    )
    around = marks.band(facts.middles, found.least, found.most, color, name=name)
    return {**around, "showlegend": False}, line


def _edge_name(x: float, trained_len: int) -> dict[str, Any]:
    place = {"x": x, "xanchor": "right", "y": 0.98, "yref": "paper", "yanchor": "top"}
    return {**place, "text": f"L = {trained_len}", "showarrow": False}
