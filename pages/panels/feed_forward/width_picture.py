"""The feed-forward layer at widths from 1 to 8 times d_model: what it costs and what it does."""

from typing import Any

from blocks.inspection.ratios import WidthFacts
from pages.figures import marks, palette
from pages.figures.axes import log_axis
from pages.figures.marks import upright
from pages.figures.theme import TITLE_AND_LEGEND, Picture, Translate, figure, legend

TALL, BOTTOM = 230, 46
FAR = 10  # times: more than that, and the axis is logarithmic


def cost(facts: WidthFacts, *, _: Translate) -> Picture:
    """Parameters of the layer and FLOPs for a token; both exact."""
    parameters = marks.bars(
        [each.ratio for each in facts.widths],
        [each.parameters for each in facts.widths],
        name=_("parameters"),
        marker={"color": palette.FEED_FORWARD},
        hovertemplate="%{y:,}<extra></extra>",
    )
    flops = _line(facts, "flops", _("FLOPs per token"), palette.LEARNED, "%{y:,}")
    return figure(
        [parameters, flops],
        title=_("Cost by width"),
        **_frame(_("count"), facts, _),
        **legend(),
    )


def written(facts: WidthFacts, *, _: Translate) -> Picture:
    """RMS of what the layer writes at each ratio, and of what this run's own layer wrote."""
    mine = marks.dots(
        [facts.own_ratio],
        [facts.own_write],
        name=_("this run"),
        marker={"symbol": "star", "size": 14, "color": palette.PINNED},
        hovertemplate="%{y:.4f}<extra></extra>",
    )
    line = _line(facts, "write_rms", _("random weights"), palette.FEED_FORWARD, "%{y:.4f}")
    values = [*(each.write_rms for each in facts.widths), facts.own_write]
    is_wide = min(values) > 0 and max(values) > FAR * min(values)
    scale = log_axis(min(values), max(values)) if is_wide else {}
    frame = _frame(_("RMS of feed_forward_out"), facts, _, **scale)
    return figure([line, mine], title=_("RMS of the output"), **frame, **legend())


def _line(facts: WidthFacts, column: str, name: str, color: str, shown: str) -> dict[str, Any]:
    return marks.line(
        [each.ratio for each in facts.widths],
        [getattr(each, column) for each in facts.widths],
        mode="lines+markers",
        name=name,
        line={"color": color, "width": 2.5},
        marker={"size": 7},
        hovertemplate=f"{shown}<extra></extra>",
    )


def _frame(title: str, facts: WidthFacts, _: Translate, **more: Any) -> dict[str, Any]:
    own = facts.own_ratio
    return {
        "height": TITLE_AND_LEGEND + TALL + BOTTOM,
        "margin": (TITLE_AND_LEGEND, BOTTOM),
        "xaxis": {
            "title": _("d_ff / d_model (this run: {ratio:g})").format(ratio=round(own, 2)),
            "dtick": 1,
            "range": [min(0.4, own - 0.3), max(8.6, own + 0.3)],
        },
        "yaxis": {"title": title, "rangemode": "tozero", **more},
        "shapes": [upright(own, layer="below")],
    }
