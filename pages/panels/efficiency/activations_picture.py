"""Activations by channel, before and after smoothing; and the loss of each kind of grid."""

from typing import Any

import numpy as np

from blocks.efficiency.activation_facts import ActivationFacts
from blocks.model.faults import N_
from blocks.weights.rounded_inputs import ActivationGrid
from pages.figures import marks, palette
from pages.figures.axes import log_axis, room_for_legend
from pages.figures.theme import Picture, Translate, figure, small
from pages.panels.efficiency.matrix_map_picture import PALE_TO_STRONG, matrix_map

PLOT = 260
GRID_NAMES = {
    ActivationGrid.NONE: N_("weights only"),
    ActivationGrid.STATIC: N_("one static grid per tensor"),
    ActivationGrid.TENSOR: N_("one grid, dynamic"),
    ActivationGrid.TOKEN: N_("one grid per token"),
}


def channels(facts: ActivationFacts, *, _: Translate) -> Picture:
    """The largest |x| of each channel and the largest weight, plain and smoothed; each sorted."""
    found = facts.channels
    lines = [
        (found.inputs, _("activations"), palette.PINNED, "solid"),
        (found.smooth_inputs, _("activations, smoothed"), palette.PINNED, "dot"),
        (found.weights, _("weights"), palette.ATTENTION, "solid"),
        (found.smooth_weights, _("weights, smoothed"), palette.ATTENTION, "dot"),
    ]
    return figure(
        [_channel_line(values, name, color, dash) for values, name, color, dash in lines],
        title=_("Largest value of each channel, sorted"),
        **room_for_legend(PLOT, len(lines)),
        xaxis={
            "title": _("rank among the input channels (logarithmic)"),
            **log_axis(1, len(found.inputs), room=0.02),
        },
        yaxis={"title": _("times the median"), "rangemode": "tozero"},
    )


def _channel_line(values: np.ndarray, name: str, color: str, dash: str) -> dict[str, Any]:
    return marks.line(
        range(1, len(values) + 1),
        small(np.sort(values)[::-1] / max(float(np.median(values)), 1e-12)),
        name=name,
        line={"color": color, "width": 2 if dash == "solid" else 1.5, "dash": dash},
        hovertemplate="%{x}: %{y:.2f}<extra></extra>",
    )


def outliers(facts: ActivationFacts, *, _: Translate) -> Picture:
    """How far one channel stands out of what each matrix reads; a click returns the matrix."""
    most = max(float(facts.rows["outlier"].max()), 2.0)
    look = {"zmin": 1, "zmax": most, "colorscale": PALE_TO_STRONG, "texttemplate": "%{z:.1f}"}
    return matrix_map(
        facts.rows,
        facts.rows["outlier"],
        look,
        _("{matrix}: its largest channel is {value:.1f} times the median"),
        _,
        name=_("times the median"),
        title=_("Largest input channel, relative to the median"),
        pinned=facts.channels.matrix,
    )


def losses(facts: ActivationFacts, *, _: Translate) -> Picture:
    """The loss of each grid, plain and smoothed; the level is the model as it is."""
    grids = [grid for grid in ActivationGrid if facts.of(grid, is_smooth=False)]
    kinds = [
        (False, _("not smoothed"), palette.FEED_FORWARD),
        (True, _("smoothed"), palette.ATTENTION),
    ]
    found = [each.held_out_loss for each in facts.measures]
    room = 0.15 * (max(found) - min(found)) or 0.1
    return figure(
        [_dots(facts, grids, is_smooth, name, color, _) for is_smooth, name, color in kinds],
        title=_("Held-out loss and score"),
        **room_for_legend(PLOT, len(kinds)),
        shapes=[marks.level(facts.exact.held_out_loss)],
        xaxis={"type": "category", "range": [-0.5, len(grids) - 0.5]},
        yaxis={"title": _("held-out loss, nats"), "range": [min(found) - room, max(found) + room]},
    )


def _dots(
    facts: ActivationFacts,
    grids: list[ActivationGrid],
    is_smooth: bool,
    name: str,
    color: str,
    _: Translate,
) -> dict[str, Any]:
    pairs = [(grid, facts.of(grid, is_smooth=is_smooth)) for grid in grids]
    there = [(_(GRID_NAMES[grid]), each) for grid, each in pairs if each is not None]
    said = "{:.0%}" if facts.is_share else "{:.3f}"
    text = _("{grid}: loss {loss:.4f}, score {score:.3f}")
    hovers = [text.format(grid=g, loss=e.held_out_loss, score=e.score) for g, e in there]
    return marks.line(
        [grid for grid, _each in there],
        [each.held_out_loss for _grid, each in there],
        mode="markers+text",
        text=[said.format(each.score) for _grid, each in there],
        textposition="middle left" if is_smooth else "middle right",
        name=name,
        marker={"color": color, "size": 11, "symbol": "diamond" if is_smooth else "circle"},
        **marks.told(hovers),
    )
