"""Held-out losses of students over their updates: with the teacher, and alone."""

import math
from collections.abc import Mapping

from blocks.efficiency.distillation import Way
from blocks.efficiency.distillation_facts import Curve, DistillationFacts
from pages.figures import marks, palette
from pages.figures.axes import log_axis, room_for_legend
from pages.figures.series import step_hover
from pages.figures.theme import Picture, Translate, figure, plain

PLOT = 290
LOOKS = {
    Way.TAUGHT: {"color": palette.ATTENTION, "width": 2.5},
    Way.ALONE: {"color": palette.FEED_FORWARD, "width": 2},
    Way.ALONE_LONGER: {"color": palette.BEFORE, "width": 2, "dash": "dot"},
    Way.ALONE_AS_LONG: {"color": palette.NORM, "width": 2, "dash": "dash"},
}


def losses(facts: DistillationFacts, names: Mapping[Way, str], *, _: Translate) -> Picture:
    """A line a way, the mean of the seeds, within the band of all; the teacher is the level."""
    curves = [facts.curve(way) for way in reversed(facts.ways)]  # the taught student lies on top
    bands = [_band(curve) for curve in curves]
    lines = [_line(curve, names[curve.way], _) for curve in curves]
    highest = max(_once_learning(curve) for curve in curves)
    lowest = min(facts.teacher_loss, *(min(curve.least) for curve in curves))
    return figure(
        [*bands, *lines],
        title=_("Held-out loss of the student"),
        **room_for_legend(PLOT, len(curves)),
        xaxis={"title": _("updates"), "rangemode": "tozero"},
        yaxis={"title": _("held-out loss, nats (logarithmic)"), **log_axis(lowest, highest)},
        shapes=[marks.level(facts.teacher_loss)],
        annotations=[marks.level_name(math.log10(facts.teacher_loss), plain(_("teacher")))],
    )


def _once_learning(curve: Curve) -> float:
    """Its largest loss after a quarter of the updates: what comes before would hide the rest."""
    start = curve.updates[-1] / 4
    seen = zip(curve.updates, curve.most, strict=True)
    return max(most for n, most in seen if n >= start)


def _band(curve: Curve) -> dict[str, object]:
    color = LOOKS[curve.way]["color"]
    return marks.band(curve.updates, curve.least, curve.most, str(color), showlegend=False)


def _line(curve: Curve, name: str, _: Translate) -> dict[str, object]:
    return marks.line(
        curve.updates,
        curve.mean,
        name=plain(name),
        line=LOOKS[curve.way],
        hovertemplate=step_hover(name, _),
    )
