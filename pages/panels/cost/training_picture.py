"""What a training takes: from the rule to the exact count, and hours on each device."""

import math
from collections.abc import Sequence
from typing import Any

from blocks.cost.hardware import HARDWARE
from blocks.cost.training_plan import TrainingFacts
from pages.figures import marks, palette
from pages.figures.axes import plot_room
from pages.figures.marks import bar_ends
from pages.figures.theme import Picture, Translate, figure, plain
from pages.figures.units import DAY, HOUR, MINUTE, YEAR, duration, flops, long_duration

ROW, AXIS = 34, 56


def waterfall(facts: TrainingFacts, labels: Sequence[str], *, _: Translate) -> Picture:
    """The rule, what is added to it or taken off, and the exact count."""
    counts = [float(count) for _name, _measure, count in facts.steps]
    measures = [measure for _name, measure, _count in facts.steps]
    ends = _ends(counts, measures)
    bars = {
        "type": "waterfall",
        "orientation": "h",
        "y": [plain(label) for label in labels],
        "x": counts,
        "measure": measures,
        "increasing": {"marker": {"color": palette.ATTENTION}},
        "decreasing": {"marker": {"color": palette.BEFORE}},
        "totals": {"marker": {"color": palette.RESIDUAL}},
        "connector": {"line": {"width": 1, "color": palette.BEFORE}},
        "hovertemplate": "<b>%{y}</b><br>%{x:,.0f} " + _("FLOPs") + "<extra></extra>",
    }
    return figure(
        [bars, bar_ends(ends, labels, [f" {flops(count)}" for count in counts])],
        title=_("From the rule of thumb to the exact count"),
        **plot_room(ROW * len(labels), AXIS),
        xaxis={
            "title": _("FLOPs of the whole training run"),
            "range": [0, 1.35 * max(ends)],
            "tickformat": "~s",
            "nticks": 5,
        },
        yaxis={"autorange": "reversed"},
    )


def _ends(counts: Sequence[float], measures: Sequence[str]) -> list[float]:
    """Where each bar ends on the right: a part that is taken off begins there."""
    ends, running = [], 0.0
    for count, measure in zip(counts, measures, strict=True):
        before = running if measure == "relative" else 0.0
        running = count if measure == "absolute" else running
        running += count if measure == "relative" else 0.0
        ends.append(max(before, running))
    return ends


def hours_bars(facts: TrainingFacts, *, title: str, _: Translate) -> Picture:
    """How long each kind of device takes, on a logarithmic axis; the chosen one stands out."""
    found = facts.devices
    seconds = [each.seconds for each in found]
    bars = marks.lying(
        seconds,
        [HARDWARE[each.device].title for each in found],
        **marks.written(long_duration(each.seconds, _=_) for each in found),
        marker={
            "color": [
                palette.PINNED if each is facts.chosen else palette.RESIDUAL for each in found
            ],
            "pattern": {
                "shape": ["" if each.is_enough else "/" for each in found],
                "solidity": 0.5,
            },
        },
        hovertemplate="<b>%{y}</b><br>%{text}<extra></extra>",
    )
    return figure(
        [bars],
        title=title,
        **plot_room(ROW * len(found), AXIS),
        bargap=0.3,
        xaxis={
            "title": _("time (logarithmic)"),
            "type": "log",
            "range": _log_range(min(seconds), max(seconds)),
            **_time_ticks(_),
        },
        yaxis={"autorange": "reversed"},
    )


def _log_range(least: float, most: float) -> list[float]:
    low, high = math.log10(least) - 0.7, math.log10(most)
    return [low, high + 0.45 * (high - low)]


def _time_ticks(_: Translate) -> dict[str, Any]:
    """Round times, in the units in which the bars are said."""
    years = _("{n:,} years")
    ticks = [
        *((seconds, duration(seconds)) for seconds in (1e-4, 1e-3, 0.01, 0.1, 1, 10)),
        (MINUTE, _("1 min")),
        (HOUR, _("1 hour")),
        (DAY, _("1 day")),
        (10 * DAY, _("10 days")),
        (YEAR, _("1 year")),
        *((n * YEAR, years.format(n=n)) for n in (10, 100, 1000, 10_000, 100_000)),
    ]
    return {"tickvals": [n for n, _text in ticks], "ticktext": [text for _n, text in ticks]}
