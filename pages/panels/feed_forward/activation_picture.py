"""What one token does in its strongest units, and how much is closed at each token."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from blocks.inspection.activations import ActivationFacts, same_bend
from blocks.inspection.units import GateFacts
from pages.figures import marks, palette
from pages.figures.axes import plot_room, row_names
from pages.figures.counting import from_one
from pages.figures.theme import (
    ROOMY,
    TITLE_AND_LEGEND,
    Picture,
    Translate,
    faint,
    figure,
    legend,
    token_label,
)
from pages.figures.token_axis import columns, label_room, slanted
from pages.figures.weights import behind, outline

DASHES = (
    *("dot", "dash", "12px,3px", "dashdot"),
    *("16px,4px,3px,4px", "10px,3px,2px,3px,2px,3px"),  # all of them whole within a legend's 30 px
)
ROWS = {"value": [0.64, 1.0], "slope": [0.3, 0.56], "share": [0.0, 0.22]}
HEIGHT, CURVES_BOTTOM, FLAT = 560, 48, 0.01


def bends(facts: ActivationFacts, names: Sequence[str], *, _: Translate) -> Picture:
    """φ, φ′ and the pre-activations over one x axis: the chosen kind strong, the others faint.

    `names`: of each group of kinds that are alike (see `same_bend`). Where |φ′| < 0.01 of the
    chosen kind the ground is grey.
    """
    curves, chosen, reach = facts.curves, facts.chosen, facts.standing.reach
    kinds = [chosen if chosen in group else group[0] for group in same_bend()]
    groups = list(zip(kinds, names, strict=True))
    others = [group for group in groups if group[0] != chosen]
    drawn = [
        *((kind, name, DASHES[i % len(DASHES)]) for i, (kind, name) in enumerate(others)),
        *((kind, name, "") for kind, name in groups if kind == chosen),
    ]
    traces = [
        _line(curves[curves["activation"] == kind], column, name, dash)
        for column in ("value", "slope")
        for kind, name, dash in drawn
    ]
    own = curves[curves["activation"] == chosen]
    x = {"range": [-reach, reach]}
    return figure(
        [*traces, _count_bars(facts.spread, _)],
        title=_("Activation, its slope, and this run's inputs"),
        height=HEIGHT,
        meta={ROOMY: True},
        margin=(TITLE_AND_LEGEND + 18, CURVES_BOTTOM),
        bargap=0,
        **legend(),
        xaxis={**x, "anchor": "y3", "title": _("z, the input to the activation")},
        yaxis=_rows("value", "φ(z)", range=[-0.7, max(2.0, 0.7 * reach)]),
        yaxis2=_rows("slope", "φ′(z)", range=[-0.25, 2.1], dtick=1),
        yaxis3=_rows("share", _("share"), tickformat=".0%", rangemode="tozero", nticks=3),
        shapes=_flat_ground(own),
    )


def _rows(name: str, title: str, **more: Any) -> dict[str, Any]:
    place = {"domain": ROWS[name], "anchor": "x"}
    return {**place, "title": title, **more}


def _line(curve: pd.DataFrame, column: str, name: str, dash: str) -> dict[str, Any]:
    is_chosen = not dash
    line = {"color": palette.FEED_FORWARD, "width": 3.5} if is_chosen else {"color": faint_grey()}
    return marks.line(
        curve["z"].to_numpy("float32"),
        curve[column].to_numpy("float32"),
        name=name,
        legendgroup=name,
        showlegend=column == "value",
        line=line if is_chosen else {**line, "width": 1.5, "dash": dash},
        yaxis="y" if column == "value" else "y2",
        hovertemplate=f"{name}: %{{y:.3f}} (z = %{{x:.2f}})<extra></extra>",
    )


def faint_grey() -> str:
    """What stands behind what was chosen."""
    return faint(palette.BEFORE, 0.75)


def _count_bars(spread: pd.DataFrame, _: Translate) -> dict[str, Any]:
    return marks.bars(
        spread["value"].to_numpy("float32"),
        spread["share"].to_numpy("float32"),
        yaxis="y3",
        showlegend=False,
        marker={"color": palette.FEED_FORWARD, "line": {"width": 0}},
        hovertemplate=_("near {value}: {share} of all pre-activations").format(
            value="%{x:.2f}", share="%{y:.2%}"
        )
        + "<extra></extra>",
    )


def _flat_ground(own: pd.DataFrame) -> list[dict[str, Any]]:
    """A grey ground over every stretch where the chosen kind passes hardly any gradient.

    Where the slope only crosses zero there is none.
    """
    z, slope = own["z"].to_numpy(), own["slope"].to_numpy()
    is_flat = np.abs(slope) < FLAT
    edges = [i for i in range(1, len(z)) if is_flat[i] != is_flat[i - 1]]
    starts = [0, *edges]
    stretches = zip(starts, [*edges, len(z) - 1], strict=True)
    return [
        marks.ground(float(z[start]), float(z[end]), palette.MASKED)
        for start, end in stretches
        if is_flat[start] and not slope[max(0, start - 1)] * slope[end] < -(FLAT**2)
    ]


ROW, BOTTOM, HEADS, TALL = 26, 36, 24, 220
GAP = 0.08
NAMES = 24


def factors(facts: GateFacts, *, _: Translate) -> Picture:
    """The strongest units of one token, a row each, and what multiplies to `hidden` side by side.

    A click on a bar returns its unit.
    """
    units, selected = facts.strongest, facts.selected
    parts = [("pre", "z"), ("hidden", _("hidden = φ(z)"))]
    if facts.is_gated:
        parts = [("gate", _("gate φ(z)")), ("up", _("× value")), ("hidden", "= hidden")]
    n, k = len(units), len(parts)
    width = (1 - GAP * (k - 1)) / k
    rows = list(units["unit"])
    traces = [_bars(units, part, i, k, _) for i, part in enumerate(parts)]
    axes: dict[str, Any] = {
        _axis("xaxis", i): {
            "domain": [i * (width + GAP), i * (width + GAP) + width],
            "anchor": "y",
            "zeroline": True,
            "nticks": 3,
        }
        for i in range(k)
    }
    outlines = [outline(0, rows.index(selected) - 0.5, 1, 1)] if selected in rows else []
    return figure(
        traces,
        title=_("Strongest units at {token}").format(token=token_label(facts.token_label)),
        **plot_room(ROW * n, BOTTOM, above=HEADS),
        bargap=0.25,
        yaxis=row_names([str(from_one(unit)) for unit in rows], title=_("unit"), showgrid=False),
        annotations=[_head(i, width, name) for i, (_column, name) in enumerate(parts)],
        shapes=[{**mark, "xref": "paper"} for mark in outlines],
        **axes,
    )


def _axis(name: str, i: int) -> str:
    return name if i == 0 else f"{name}{i + 1}"


def _bars(
    units: pd.DataFrame, part: tuple[str, str], i: int, k: int, _: Translate
) -> dict[str, Any]:
    column, name = part
    color = palette.FEED_FORWARD if i == k - 1 else (palette.NORM, palette.ATTENTION)[i]
    text = _("unit {unit}: {value}").format(unit="%{customdata[1]}", value="%{x:.3f}")
    return marks.lying(
        units[column].tolist(),
        range(len(units)),
        name=name,
        xaxis=_axis("x", i),
        customdata=[[int(unit), from_one(unit)] for unit in units["unit"]],
        marker={"color": color},
        **marks.steady(),
        hovertemplate=text + "<extra></extra>",
    )


def _head(i: int, width: float, name: str) -> dict[str, Any]:
    place = {"x": i * (width + GAP) + width / 2, "xref": "paper", "y": 1, "yref": "paper"}
    return {**place, "yanchor": "bottom", "text": name, "font": {"size": 13}}


def closed(facts: GateFacts, *, _: Translate) -> Picture:
    """The share of units that are off at each token; a click returns the token's number."""
    shares, tokens, numbers = facts.off_shares, facts.labels, facts.numbers
    room, places = label_room(tokens), list(range(len(tokens)))
    text = _("{number} · {token}: {share:.1%} of the units are off")
    hovers = [
        text.format(number=from_one(number), token=token_label(token), share=share)
        for number, token, share in zip(numbers, tokens, shares, strict=True)
    ]
    bars = marks.bars(places, shares, marker={"color": palette.BEFORE}, hoverinfo="skip")
    outlines = [behind(numbers.index(facts.token))] if facts.token in numbers else []
    return figure(
        [bars, columns(hovers, numbers, 1.0)],
        title=_("Units off at each token"),
        **plot_room(TALL, room),
        barmode="overlay",
        bargap=0.1,
        xaxis=slanted(tokens, NAMES, range=[-0.6, len(tokens) - 0.4]),
        yaxis={"title": _("share of units"), "tickformat": ".0%", "range": [0, 1.02]},
        shapes=outlines,
    )
