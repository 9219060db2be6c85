"""Score over the share that is removed: as it is, trained on, and removed little by little."""

from typing import Any

from blocks.efficiency.retraining import Repair
from blocks.efficiency.retraining_facts import RetrainingFacts
from blocks.model.faults import N_
from pages.figures import marks, palette
from pages.figures.axes import room_for_legend, score_axis_from_0
from pages.figures.theme import Picture, Translate, figure

PLOT = 290
REPAIR_NAMES = {
    Repair.NONE: N_("removed, not retrained"),
    Repair.AFTER: N_("removed at once, retrained"),
    Repair.GRADUAL: N_("removed gradually, retrained"),
}
LOOKS = {
    Repair.NONE: (palette.BEFORE, "x"),
    Repair.AFTER: (palette.ATTENTION, "square"),
    Repair.GRADUAL: (palette.FEED_FORWARD, "circle"),
}


def lines(facts: RetrainingFacts, *, _: Translate) -> Picture:
    """A line a way; the whole model, trained on, is the level."""
    traces = [_line(facts, repair, _) for repair in Repair if len(facts.line(repair)) > 1]
    return figure(
        traces,
        title=_("What retraining recovers"),
        **room_for_legend(PLOT, len(traces)),
        shapes=[marks.level(facts.quality(facts.control))],
        xaxis={
            "title": _("share removed"),
            "tickformat": ".0%",
            "range": [-0.02, 0.95],
        },
        yaxis=score_axis_from_0(facts.score_name, facts.is_share, _),
    )


def _line(facts: RetrainingFacts, repair: Repair, _: Translate) -> dict[str, Any]:
    color, symbol = LOOKS[repair]
    text = _("{share:.0%} removed: {value:.3f}, loss {loss:.3f}")
    points = facts.line(repair)
    return marks.line(
        [each.share for each in points],
        [facts.quality(each) for each in points],
        mode="lines+markers",
        name=_(REPAIR_NAMES[repair]),
        line={"color": color, "width": 2},
        marker={"color": color, "symbol": symbol, "size": 9},
        **marks.told(
            [text.format(share=e.share, value=facts.quality(e), loss=e.loss) for e in points]
        ),
    )
