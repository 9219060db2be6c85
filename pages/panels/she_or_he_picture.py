"""She or he: two bars, what they were with the whole model, and the head that knows."""

from collections.abc import Sequence

from blocks.inspection.known_names import Asked, Knower
from pages.figures import head_grid, marks, palette
from pages.figures.axes import BARE, row_names
from pages.figures.counting import from_one, head_called
from pages.figures.theme import (
    HIDDEN_AXIS,
    TITLE,
    TITLE_AND_LEGEND,
    Picture,
    Translate,
    figure,
    legend,
    plain,
    word_label,
)

ROW, ON_DARK = 44, "#ffffff"


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
        marker={"color": palette.BEFORE},
        opacity=0.35,  # in the legend too
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


def each_head(found: tuple[Knower, Sequence[str], str], *, _: Translate) -> Picture:
    """How much the share of her moves without each head; the one that knows is outlined."""
    knower, shares, word = found
    n_layers, n_heads = knower.each.shape
    numbers = [(divmod(i, n_heads), share) for i, share in enumerate(shares)]
    return head_grid.grid(
        marks.heat(
            knower.each,
            zmin=0,
            colorscale=[list(stop) for stop in palette.WEIGHTS],
            showscale=False,
        ),
        [f"{head_called(layer, head, _)}: {plain(share)}" for (layer, head), share in numbers],
        [[i] for i in range(len(shares))],
        title=_("Change in the share of “{word}” without each head").format(word=word),
        layers=range(n_layers),
        columns=[str(from_one(head)) for head in range(n_heads)],
        across=_("head"),
        selected=[knower.head],
        annotations=[
            {
                "x": head,
                "y": layer,
                "text": plain(share),
                "font": {"color": ON_DARK if layer * n_heads + head == knower.head else None},
            }
            for (layer, head), share in numbers
        ],
        _=_,
    )
