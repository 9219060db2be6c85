"""Paths by their length: how much gradient each carries, and what the model can do with them."""

from typing import Any

from blocks.inspection.paths import PathFacts
from pages.figures import marks, palette
from pages.figures.axes import log_axis
from pages.figures.theme import TITLE_AND_LEGEND, Picture, Translate, figure, legend

HEIGHT, BOTTOM = 340, 48


def gradients(facts: PathFacts, *, _: Translate) -> Picture:
    """The share of the gradient by length of path, beside the share of the paths."""
    lengths = [*range(len(facts.n_paths))]
    hovers = [
        _("{n:,} paths of length {k}: {share:.1%} of the gradient").format(n=n, k=k, share=share)
        for k, (n, share) in enumerate(zip(facts.n_paths, facts.shares, strict=True))
    ]
    bars = marks.bars(
        lengths,
        [*facts.shares],
        name=_("share of the gradient"),
        marker={"color": palette.RESIDUAL},
        **marks.told(hovers),
    )
    counted = marks.line(
        lengths,
        facts.share_of_paths,
        name=_("share of all paths"),
        line=marks.dashed(palette.BEFORE),
        hoverinfo="skip",
    )
    return figure(
        [bars, counted],
        title=_("Gradient at the embedding, by path length"),
        height=HEIGHT,
        margin=(TITLE_AND_LEGEND, BOTTOM),
        **legend(),
        xaxis=_lengths(_("sub-layers on the path"), lengths),
        yaxis={"title": _("share"), "tickformat": ".0%", "rangemode": "tozero"},
    )


def losses(facts: PathFacts, *, _: Translate) -> Picture:
    """The loss with paths up to each length, and with so many sub-layers kept at random."""
    lengths = [*range(len(facts.n_paths))]
    low, high = ([end(each) for each in facts.kept_losses] for end in (min, max))
    return figure(
        [
            marks.band(lengths, low, high, palette.PINNED, showlegend=False),
            marks.line(
                lengths,
                facts.kept_means,
                mode="lines+markers",
                name=_("this many sub-layers kept, the others deleted"),
                line={"color": palette.PINNED, "width": 2},
                hovertemplate="%{x}: %{y:.3f}<extra></extra>",
            ),
            marks.line(
                lengths,
                facts.losses,
                mode="lines+markers",
                name=_("all paths up to this length"),
                line={"color": palette.ATTENTION, "width": 2},
                hovertemplate="%{x}: %{y:.3f}<extra></extra>",
            ),
        ],
        title=_("Loss with fewer paths"),
        height=HEIGHT,
        margin=(TITLE_AND_LEGEND, BOTTOM),
        shapes=[marks.level(facts.losses[-1])],
        **legend(),
        xaxis=_lengths(_("sub-layers"), lengths),
        yaxis={
            "title": _("loss, nats (logarithmic)"),
            **log_axis(min(*low, *facts.losses), max(*high, *facts.losses)),
        },
    )


def _lengths(title: str, lengths: list[int]) -> dict[str, Any]:
    every = max(1, len(lengths) // 12)
    return {"title": title, "tickvals": lengths[::every]}
