"""She or he: two bars, and what they were with the whole model."""

from collections.abc import Sequence

from blocks.inspection.known_names import Asked
from pages.figures import marks, palette
from pages.figures.axes import BARE, row_names
from pages.figures.theme import (
    HIDDEN_AXIS,
    TITLE,
    TITLE_AND_LEGEND,
    Picture,
    Translate,
    figure,
    legend,
    word_label,
)

ROW = 44


def two_bars(found: tuple[Asked, Sequence[str]], *, _: Translate) -> Picture:
    """How likely each is, said as in the sentence; behind them in gray what they were before."""
    facts, shares = found
    bars = marks.lying(
        [*facts.chances],
        range(2),
        **marks.written(shares),
        marker={"color": [palette.EMBEDDING, palette.ATTENTION]},
        hoverinfo="skip",
        showlegend=False,
    )
    before = marks.lying(
        [*facts.facts.whole],
        range(2),
        marker={"color": palette.BEFORE, "opacity": 0.35},
        name=_("before, with all heads"),
        hoverinfo="skip",
    )
    top = TITLE_AND_LEGEND if facts.is_off else TITLE
    return figure(
        [before, bars] if facts.is_off else [bars],
        title=_("What follows “{name}”").format(name=word_label(facts.facts.name)),
        height=top + ROW * 2,
        margin=(top, 0),
        **(legend() if facts.is_off else {}),
        barmode="overlay",
        bargap=0.3,
        xaxis={**HIDDEN_AXIS, "range": [0, 1.2], "tickformat": ".0%"},
        yaxis=row_names([*facts.story.words], tickfont={"size": 16}, **BARE),
    )
