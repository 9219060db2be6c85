"""Scores of random vectors against their width."""

from typing import Any

from blocks.inspection.scaling import D_HEADS, Divisor, RandomScoresFacts, ScoreMeasure
from pages.figures import marks, palette
from pages.figures.axes import log_sizes
from pages.figures.theme import TITLE_AND_LEGEND, Picture, Translate, figure, legend

HEIGHT = 300
COLORS = {
    Divisor.NOTHING: palette.BEFORE,
    Divisor.ROOT: palette.ATTENTION,
    Divisor.WIDTH: palette.PINNED,
}


def measure_names(_: Translate) -> dict[ScoreMeasure, str]:
    """What is measured, in words."""
    return {
        ScoreMeasure.SPREAD: _("standard deviation of the scores"),
        ScoreMeasure.LARGEST: _("largest of the 16 weights"),
        ScoreMeasure.SLOPE: _("slope of softmax"),
    }


def divisor_names(_: Translate) -> dict[Divisor, str]:
    """What scores are divided by, in words."""
    return {
        Divisor.NOTHING: _("not divided"),
        Divisor.ROOT: _("divided by √d"),
        Divisor.WIDTH: _("divided by d"),
    }


def curve(facts: RandomScoresFacts, *, _: Translate) -> Picture:
    """One measure against the width, for every divisor up to the chosen one, which is strong.

    Standard deviations are powers of d: straight lines, where both axes are logarithmic.
    """
    return figure(
        [_line(facts, divisor, _) for divisor in facts.drawn],
        title=_("Attention between random vectors, by width"),
        height=HEIGHT,
        margin=(TITLE_AND_LEGEND, 44),
        **legend(),
        xaxis=log_sizes(_("d: entries per vector"), D_HEADS),
        yaxis={"title": measure_names(_)[facts.measure], **_range_of(facts.measure)},
    )


def _range_of(measure: ScoreMeasure) -> dict[str, Any]:
    if measure is not ScoreMeasure.SPREAD:
        return {"range": [0, 1.05]}
    ticks = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20]
    return {
        "type": "log",
        "range": [-1.5, 1.5],
        "tickvals": ticks,
        "ticktext": [f"{tick:g}" for tick in ticks],
    }


def _line(facts: RandomScoresFacts, divisor: Divisor, _: Translate) -> dict[str, Any]:
    found, is_strong = facts.curve(divisor), divisor is facts.divisor
    return marks.line(
        found.index.tolist(),
        found.tolist(),
        mode="lines+markers",
        name=divisor_names(_)[divisor],
        line={"color": COLORS[divisor], "width": 3 if is_strong else 1.5},
        marker={"size": 8 if is_strong else 4, "color": COLORS[divisor]},
        hovertemplate="d = %{x}: %{y:.3f}<extra></extra>",
    )
