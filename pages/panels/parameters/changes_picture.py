"""Where the size goes as a model grows: shares of its parts, stacked to 100 %."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from blocks.cost.growth import GrowthFacts, Share
from blocks.model.faults import N_
from pages.figures import marks, palette
from pages.figures.axes import half_of_last, log_sizes, plot_room, room_under_legend
from pages.figures.described import SAID
from pages.figures.marks import dashed, upright
from pages.figures.theme import Picture, Translate, faint, figure, plain

ROW, CHANGES_BOTTOM, BAR = 44, 60, 0.36
LABEL = {"font": {"size": 12}}
LEAST_REACH, TICK = 4.0, 3  # thousand after thousand


def differences(
    deltas: Mapping[str, int], names: Mapping[str, str], said: Mapping[str, str], *, _: Translate
) -> Picture:
    """A bar a change, to the left what it saves, to the right what it adds; none is a diamond at 0.

    `names` and `said` stand above the bar. The axis is logarithmic to both sides of 0.
    """
    places = [_place(delta) for delta in deltas.values()]
    ends = min(0.0, *places, -LEAST_REACH), max(0.0, *places, LEAST_REACH)
    customdata = [[name, plain(names[name]), plain(said[name])] for name in deltas]
    unchanged = [i for i, delta in enumerate(deltas.values()) if delta == 0]
    ticks = _ticks(*ends)
    return figure(
        [_bars(places, customdata), _unchanged(unchanged, customdata)],
        title=_("Change in parameter count, one setting at a time"),
        **plot_room(ROW * len(deltas), CHANGES_BOTTOM),
        annotations=[
            _label(i, row, place)
            for i, (row, place) in enumerate(zip(customdata, places, strict=True))
        ],
        xaxis={
            "title": _("Δ parameters (symmetric log scale)"),
            "tickvals": [place for place, _text in ticks],
            "ticktext": [text for _place_, text in ticks],
            "tickangle": 0,
            "range": [1.04 * ends[0], 1.04 * ends[1]],
            "zeroline": True,
            "zerolinewidth": 1,
            "zerolinecolor": faint(palette.BEFORE, 0.6),
        },
        yaxis={"visible": False, "range": [len(deltas) - 0.4, -0.6]},
    )


HOVER = "<b>%{customdata[1]}</b><br>%{customdata[2]}<extra></extra>"


def _bars(places: Sequence[float], customdata: Sequence[list[str]]) -> dict[str, Any]:
    colors = [palette.LEARNED if place < 0 else palette.FEED_FORWARD for place in places]
    return marks.lying(
        places,
        range(len(places)),
        width=BAR,
        offset=0.06,
        marker={"color": colors},
        customdata=customdata,
        hovertemplate=HOVER,
        meta={SAID: ["; ".join(f"{name} {change}" for _name, name, change in customdata)]},
    )


def _unchanged(rows: Sequence[int], customdata: Sequence[list[str]]) -> dict[str, Any]:
    return marks.dots(
        [0] * len(rows),
        [i + 0.06 + BAR / 2 for i in rows],
        marker={"symbol": "diamond", "size": 12, "color": palette.BEFORE},
        customdata=[customdata[i] for i in rows],
        hovertemplate=HOVER,
        meta={SAID: []},
    )


def _label(i: int, row: list[str], place: float) -> dict[str, Any]:
    """At the end to which the bar goes; of no change above the 0."""
    ends = {"x": int(place > 0), "xref": "paper", "xanchor": "right" if place > 0 else "left"}
    where = ends if place else {"x": 0, "xref": "x", "xanchor": "center"}
    text = f"{row[1]} · <b>{row[2]}</b>"
    return {**where, "y": i, "yanchor": "bottom", "text": text, **LABEL}


def _place(delta: int) -> float:
    """Where a difference stands: the logarithm of its size, with its sign."""
    return math.copysign(math.log10(1 + abs(delta)), delta) if delta else 0.0


def _ticks(least: float, most: float) -> list[tuple[float, str]]:
    """0, and powers of a thousand to both sides."""
    right = [(float(power), f"10<sup>{power}</sup>") for power in range(TICK, int(most) + 1, TICK)]
    left = [
        (-float(power), f"−10<sup>{power}</sup>") for power in range(TICK, int(-least) + 1, TICK)
    ]
    return [*reversed(left), (0.0, "0"), *right]


TALL, BOTTOM, SECOND_LINE = 270, 46, 22
MOST_TICKS = 7
SHARES = {
    Share.EMBEDDINGS: N_("embeddings"),
    Share.ATTENTION: N_("attention"),
    Share.MIXER: N_("token mixer"),
    Share.FEED_FORWARD: N_("feed-forward"),
    Share.REST: N_("norms and the rest"),
}
COLORS = {
    "embeddings": palette.EMBEDDING,
    "attention": palette.ATTENTION,
    "mixer": palette.ATTENTION,
    "feed_forward": palette.FEED_FORWARD,
    "rest": palette.NORM,
}


def over_width(facts: GrowthFacts, *, _: Translate) -> Picture:
    return _shares(facts, "d_model", title=_("Parameter shares by width"), _=_)


def over_depth(facts: GrowthFacts, *, _: Translate) -> Picture:
    return _shares(facts, "n_layers", title=_("Parameter shares by depth"), _=_)


OVER = (over_width, over_depth)


def _shares(facts: GrowthFacts, size: str, *, title: str, _: Translate) -> Picture:
    """Areas of each share against a size, on a logarithmic axis; the reader's own is marked."""
    table, own = facts.over[size], facts.own[size]
    shown = [each for each in Share if each is not Share.MIXER or table[str(each)].any()]
    names = {str(share): _(SHARES[share]) for share in shown}
    x = [int(value) for value in table[size]]
    said = [f"{total:,.0f}" for total in table["total"]]
    areas = [
        marks.line(
            x,
            table[name].tolist(),
            stackgroup="all",
            name=plain(label),
            line={"color": COLORS[name], "width": 1},
            fillcolor=faint(COLORS[name], 0.62),
            customdata=[[text] for text in said],
            hovertemplate=f"{plain(label)}: %{{y:.1%}}<br>{size} = %{{x:,}}: "
            + _("{n} parameters").format(n="%{customdata[0]}")
            + "<extra></extra>",
        )
        for name, label in names.items()
    ]
    across = _("{size} (logarithmic; yours: {own})").format(size=size, own=own)
    return figure(
        areas,
        title=title,
        **room_under_legend(TALL, BOTTOM, above=SECOND_LINE),
        right=half_of_last(x),
        xaxis={**log_sizes(across, _some(x, own)), "tickangle": 0},
        yaxis={"title": _("share of all parameters"), "range": [0, 1], "tickformat": ".0%"},
        shapes=[upright(own, line=dashed(palette.PINNED, width=2))],
    )


def _some(sizes: list[int], own: int) -> list[int]:
    step = max(1, -(-len(sizes) // MOST_TICKS))
    place = sizes.index(own) if own in sizes else 0
    return sizes[place % step :: step]
