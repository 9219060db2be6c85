"""Deleted sub-layers: each alone, more and more of them, and in siblings without a residual."""

import re
from collections.abc import Sequence
from typing import Any

from blocks.efficiency.deletion import Change, Changed
from blocks.efficiency.deletion_facts import DeletionFacts
from blocks.efficiency.recorded_deletions import SiblingFacts
from blocks.model.faults import N_
from blocks.model.kinds import NormPlacement
from pages.figures import marks, palette
from pages.figures.axes import plot_room, room_for_legend, score_axis
from pages.figures.counting import from_one
from pages.figures.theme import Picture, Translate, figure

PLOT, ROW, BOTTOM = 280, 24, 48
PART_NAMES = {
    "attention_residual": N_("attention"),
    "cross_attention_residual": N_("cross-attention"),
    "feed_forward_residual": N_("feed-forward"),
    "": N_("layer"),
}
STACK_NAMES = {"": "", "encoder.": N_("encoder"), "decoder.": N_("decoder")}
COLORS = {
    "attention_residual": palette.ATTENTION,
    "cross_attention_residual": palette.NORM,
    "feed_forward_residual": palette.FEED_FORWARD,
    "": palette.RESIDUAL,
}
PATH = re.compile(r"(|encoder\.|decoder\.)layers\.(\d+)\.?(\w*)")
SIBLING_NAMES = {
    (NormPlacement.PRE, True): N_("pre-norm"),
    (NormPlacement.POST, True): N_("post-norm"),
    (NormPlacement.PRE, False): N_("pre-norm, no residual"),
    (NormPlacement.POST, False): N_("post-norm, no residual"),
}
SIBLING_LOOKS = {
    (NormPlacement.PRE, True): (palette.ATTENTION, "solid"),
    (NormPlacement.POST, True): (palette.FEED_FORWARD, "solid"),
    (NormPlacement.PRE, False): (palette.ATTENTION, "dot"),
    (NormPlacement.POST, False): (palette.FEED_FORWARD, "dot"),
}


def change_name(change: Change, _: Translate) -> str:
    """A deletion or a swap, layers counted from 1."""
    if change.swapped:
        (stack, one, _part), (_stack, other, _other) = map(_place, change.swapped)
        return f"{_stack_name(stack, _)}{from_one(one)} ↔ {from_one(other)}"
    stack, layer, part = _place(change.deleted[0])
    return f"{_stack_name(stack, _)}{_(PART_NAMES[part])} {from_one(layer)}"


def _place(path: str) -> tuple[str, int, str]:
    stack, layer, part = PATH.fullmatch(path).groups()  # type: ignore[union-attr]
    return stack, int(layer), part


def _stack_name(stack: str, _: Translate) -> str:
    return f"{_(STACK_NAMES[stack])} " if stack else ""


def alone(facts: DeletionFacts, *, _: Translate) -> Picture:
    """A bar for every sub-layer deleted alone and every two layers swapped."""
    names = [change_name(each.change, _) for each in facts.alone]
    shown = [facts.quality(each) for each in facts.alone]
    text = _("{name}: score {score:.3f}, loss {loss:.3f}")
    bars = marks.lying(
        shown,
        names,
        marker={"color": [_color(each) for each in facts.alone]},
        **marks.told(
            text.format(name=name, score=each.score, loss=each.held_out_loss)
            for name, each in zip(names, facts.alone, strict=True)
        ),
    )
    axis = score_axis(facts.score_name, facts.is_share, _)
    return figure(
        [bars],
        title=_("Without one sub-layer, or with two layers swapped"),
        **plot_room(ROW * len(names), BOTTOM),
        shapes=[marks.upright(facts.quality(facts.original))],
        xaxis={**axis, "rangemode": "tozero"},
        yaxis={"autorange": "reversed", "automargin": True},
    )


def _color(changed: Changed) -> str:
    return (
        palette.PINNED if changed.change.swapped else COLORS[_place(changed.change.deleted[0])[2]]
    )


def lines(facts: DeletionFacts, *, _: Translate) -> Picture:
    """Score over the number deleted: the least needed first, and at random, with its band."""
    numbers = [*range(len(facts.least_first))]
    low, high = ([end(each) for each in facts.random_spreads] for end in (min, max))
    return figure(
        [
            marks.band(numbers, low, high, palette.BEFORE, showlegend=False),
            _line(numbers, facts.random_means, _("at random"), palette.BEFORE, "dash"),
            _line(
                numbers,
                [facts.quality(each) for each in facts.least_first],
                _("least needed first"),
                palette.ATTENTION,
                "solid",
            ),
        ],
        title=_("Quality as more sub-layers are deleted"),
        **room_for_legend(PLOT, 2),
        xaxis={"title": _("sub-layers deleted"), "tickvals": numbers},
        yaxis={**score_axis(facts.score_name, facts.is_share, _), "rangemode": "tozero"},
    )


def siblings(facts: SiblingFacts, *, _: Translate) -> Picture:
    """A line for each kind, those with the connection within the band of all seeds and orders."""
    numbers = [*range(facts.n_sublayers + 1)]
    bands = [
        marks.band(
            numbers,
            [*map(min, columns)],
            [*map(max, columns)],
            SIBLING_LOOKS[kind][0],
            showlegend=False,
        )
        for kind, columns in facts.columns.items()
        if kind[1]
    ]
    drawn = [
        _line(numbers, mean, _(SIBLING_NAMES[kind]), *SIBLING_LOOKS[kind])
        for kind, mean in facts.means.items()
    ]
    return figure(
        [*bands, *drawn],
        title=_("Models trained to sort, with sub-layers deleted at random"),
        **room_for_legend(PLOT, len(drawn)),
        xaxis={"title": _("sub-layers deleted"), "tickvals": numbers},
        yaxis={**score_axis(N_("exact answers"), True, _), "range": [-0.03, 1.05]},
    )


def _line(x: Sequence[int], y: Sequence[float], name: str, color: str, dash: str) -> dict[str, Any]:
    return marks.line(
        x,
        y,
        mode="lines+markers",
        name=name,
        line={"color": color, "width": 2, "dash": dash},
        marker={"color": color, "size": 7},
        hovertemplate="%{x}: %{y:.3f}<extra></extra>",
    )
