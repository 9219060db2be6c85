"""Heads that rest on the first token: much attention that moves little."""

from typing import Any

from blocks.inspection.contribution import SinkFacts
from pages.figures.counting import head_called
from pages.figures.described import SAID
from pages.figures.table_rows import each_row
from pages.figures.theme import ATTENTION, BEFORE, PINNED, Picture, Translate, faint, figure


def sinks(facts: SinkFacts, *, _: Translate) -> Picture:
    """A point a head: its weight on the first token against what that token would move.

    Sinks lie in the shaded corner. A click returns layer and head.
    """
    heads, (layer, head) = facts.heads, facts.selected
    text = _("{head}: weight {weight:.2f}, value {ratio:.2f}")
    hovers = [
        text.format(
            head=head_called(row.layer, row.head, _), weight=row.weight, ratio=row.value_ratio
        )
        for row in each_row(heads)
    ]
    said = [hover for hover, is_sink in zip(hovers, heads["is_sink"], strict=True) if is_sink]
    is_selected = (heads["layer"] == layer) & (heads["head"] == head)
    colors = [
        PINNED if chosen else ATTENTION if sink else faint(ATTENTION, 0.45)
        for chosen, sink in zip(is_selected, heads["is_sink"], strict=True)
    ]
    kept = {"marker": {"opacity": 1}}
    most = max(1.25, 1.1 * float(heads["value_ratio"].max()))
    points = {
        "type": "scatter",
        "mode": "markers",
        "x": heads["value_ratio"].tolist(),
        "y": heads["weight"].tolist(),
        "customdata": heads[["layer", "head"]].to_numpy().tolist(),
        "hovertext": hovers,
        "hoverinfo": "text",
        "meta": {SAID: said},
        "marker": {
            "size": 11,
            "color": colors,
            "symbol": ["diamond" if sink else "circle" for sink in heads["is_sink"]],
        },
        "selected": kept,
        "unselected": kept,
    }
    even = float(heads["even_weight"].iloc[0])
    return figure(
        [points],
        title=_("First token: attention weight against vector size"),
        height=360,
        margin=(46, 48),
        xaxis={
            "title": {"text": _("‖v·W_O‖ of the first token, relative to the mean of the others")},
            "range": [0, most],
            "fixedrange": True,
            "automargin": False,
        },
        yaxis={
            "title": {"text": _("mean weight on the first token")},
            "range": [0, 1.03],
            "tickformat": ".0%",
            "fixedrange": True,
        },
        shapes=[
            {
                "type": "rect",
                "x0": 0,
                "x1": facts.below,
                "y0": facts.above,
                "y1": 1.03,
                "line": {"width": 0},
                "fillcolor": faint(ATTENTION, 0.12),
                "layer": "below",
            },
            {
                "type": "line",
                "x0": 0,
                "x1": most,
                "y0": even,
                "y1": even,
                "line": {"color": BEFORE, "width": 1, "dash": "dot"},
            },
        ],
        annotations=[
            _note(_("heads with an attention sink"), 0.02 * most, 1.0, "left", "top"),
            _note(_("if all keys weighed the same"), 0.02 * most, even, "left", "bottom"),
        ],
    )


def _note(text: str, x: float, y: float, xanchor: str, yanchor: str) -> dict[str, Any]:
    place = {"x": x, "y": y, "xanchor": xanchor, "yanchor": yanchor}
    return {**place, "text": text, "showarrow": False, "font": {"size": 11}}
