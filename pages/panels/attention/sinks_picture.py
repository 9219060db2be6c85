"""Heads that rest on the first token: much attention that moves little."""

from typing import Any

from blocks.inspection.contribution import SinkFacts
from pages.figures import marks, palette
from pages.figures.counting import head_called
from pages.figures.described import SAID
from pages.figures.marks import dashed, level, level_name, told
from pages.figures.table_rows import Row, each_row
from pages.figures.theme import Picture, Translate, faint, figure

AT_THE_RIGHT, SMALL = {"x": 0.98, "xanchor": "right"}, {"font": {"size": 11}}
TOP = 1.03  # of the axis: a weight of 1 is still seen whole


def sinks(facts: SinkFacts, *, _: Translate) -> Picture:
    """A point per head: its weight on the first token against what that token would move.

    Sinks lie in the shaded corner. A click returns layer and head.
    """
    most = max(1.25, 1.1 * float(facts.heads["value_ratio"].max()))
    even = float(facts.heads["even_weight"].iloc[0])
    corner = {"type": "rect", "x0": 0, "x1": facts.below, "y0": facts.above, "y1": TOP}
    shade = {"line": {"width": 0}, "fillcolor": faint(palette.ATTENTION, 0.12), "layer": "below"}
    beside = {"x": 1.05 * facts.below, "xref": "x", "yanchor": "top"}  # where no sink stands
    return figure(
        [_heads(facts, _)],
        title=_("First token: attention weight against length of v·W_O"),
        height=360,
        margin=(46, 48),
        xaxis={
            "title": _("‖v·W_O‖ of the first token ÷ mean of the others"),
            "range": [0, most],
            "automargin": False,
        },
        yaxis={
            "title": _("mean weight on the first token"),
            "range": [0, TOP],
            "tickformat": ".0%",
        },
        shapes=[corner | shade, level(even, line=dashed(dash="dot", width=1))],
        annotations=[
            level_name(1.0, _("← heads with an attention sink"), **beside, **SMALL),
            level_name(even, _("if all keys had equal weight"), **AT_THE_RIGHT, **SMALL),
        ],
    )


def _heads(facts: SinkFacts, _: Translate) -> dict[str, Any]:
    """Sinks are diamonds, and those are said; the head that is looked at has the pin's colour."""
    heads = [*each_row(facts.heads)]
    text = _("{head}: weight {weight:.2f}, ‖v·W_O‖ ratio {ratio:.2f}")
    names = (head_called(row.layer, row.head, _) for row in heads)
    hovers = [
        text.format(head=name, weight=row.weight, ratio=row.value_ratio)
        for name, row in zip(names, heads, strict=True)
    ]
    return marks.dots(
        [row.value_ratio for row in heads],
        [row.weight for row in heads],
        customdata=[[row.layer, row.head] for row in heads],
        **told(hovers),
        meta={SAID: [said for said, row in zip(hovers, heads, strict=True) if row.is_sink]},
        marker={
            "size": 11,
            "color": [_color(row, facts) for row in heads],
            "symbol": ["diamond" if row.is_sink else "circle" for row in heads],
        },
        **marks.steady(),
    )


def _color(row: Row, facts: SinkFacts) -> str:
    if (row.layer, row.head) == facts.selected:
        return palette.PINNED
    return palette.ATTENTION if row.is_sink else faint(palette.ATTENTION, 0.45)
