"""Rounded KV caches: the score and the logits over the bytes that a row of tokens takes."""

from collections.abc import Callable
from typing import Any

from blocks.cost.units import bytes_text
from blocks.efficiency.cache_facts import CacheFacts, CacheMeasure
from blocks.efficiency.cache_rounding import CacheAxis
from blocks.model.faults import N_
from pages.figures import marks, palette
from pages.figures.axes import log_axis, room_for_legend, score_axis
from pages.figures.theme import Picture, Translate, figure

PLOT = 260
AXIS_NAMES = {
    "token": N_("per-token"),
    "channel": N_("per-channel"),
    "kivi": N_("keys per channel, values per token"),
}
LOOKS = {
    CacheAxis.TOKEN: (palette.FEED_FORWARD, "square"),
    CacheAxis.CHANNEL: (palette.EMBEDDING, "diamond"),
    CacheAxis.KIVI: (palette.ATTENTION, "circle"),
}


def scores(facts: CacheFacts, *, _: Translate) -> Picture:
    """A line for each axis, a dot for each number of bits; the level is the exact cache's."""
    return _over_bytes(
        facts,
        lambda each: each.score,
        _,
        title=_("Score against cache size"),
        shapes=[marks.level(facts.exact.score)],
        yaxis=_score_axis(facts, _),
    )


def differences(facts: CacheFacts, *, _: Translate) -> Picture:
    """The largest difference of any logit, on the same bytes."""
    found = [each.largest_difference for each in facts.measures if each.how]
    return _over_bytes(
        facts,
        lambda each: each.largest_difference,
        _,
        title=_("Largest change in any logit"),
        yaxis={"title": _("largest change (logarithmic)"), **log_axis(min(found), max(found))},
    )


def _score_axis(facts: CacheFacts, _: Translate) -> dict[str, Any]:
    if facts.is_share:
        least = min(each.score for each in facts.measures)
        return {**score_axis(facts.score_name, True, _), "range": [least - 0.04, 1.015]}
    return {"title": _(facts.score_name)}


def _over_bytes(
    facts: CacheFacts, value: Callable[[CacheMeasure], float], _: Translate, **more: Any
) -> Picture:
    sizes = [each.n_bytes for each in facts.measures]
    lines = [_line(facts, axis, value, _) for axis in CacheAxis if facts.of(axis)]
    return figure(
        lines,
        **room_for_legend(PLOT, len(lines)),
        xaxis={
            "title": _("cache size, bytes (logarithmic)"),
            **log_axis(min(sizes), max(sizes), said=bytes_text),
        },
        **more,
    )


def _line(
    facts: CacheFacts, axis: CacheAxis, value: Callable[[CacheMeasure], float], _: Translate
) -> dict[str, Any]:
    color, symbol = LOOKS[axis]
    found = facts.of(axis)
    sizes = [15 if each is facts.chosen else 9 for each in found]
    text = _("{bits} bits: {size}, score {score:.3f}, logits off by up to {difference:.2g}")
    hovers = [
        text.format(
            bits=each.how.n_bits if each.how else 16,
            size=bytes_text(each.n_bytes),
            score=each.score,
            difference=each.largest_difference,
        )
        for each in found
    ]
    return marks.line(
        [each.n_bytes for each in found],
        [value(each) for each in found],
        mode="lines+markers+text",
        name=_(AXIS_NAMES[axis]),
        text=[str(each.how.n_bits) if each.how else "" for each in found],
        textposition="top center",
        line={"color": color, "width": 2},
        marker={"color": color, "symbol": symbol, "size": sizes},
        **marks.told(hovers),
    )
