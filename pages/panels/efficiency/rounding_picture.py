"""Rounding as it is seen: numbers that fall onto a grid, and the noise of each matrix."""

from typing import Any

import numpy as np

from blocks.efficiency.blame_facts import BlameFacts
from blocks.efficiency.rounding_facts import RoundingFacts
from pages.figures import marks, palette
from pages.figures.axes import room_under_legend
from pages.figures.theme import Picture, Translate, faint, figure, small
from pages.panels.efficiency.matrix_map_picture import PALE_TO_STRONG, matrix_map

PLOT, BOTTOM = 192, 44
QUIET, LOUD = 40, 0  # decibels
NOISE = (
    (0.0, "rgba(213, 94, 0, 0.95)"),
    (0.5, "rgba(213, 94, 0, 0.35)"),
    (1.0, "rgba(213, 94, 0, 0.03)"),
)


def number_line(facts: RoundingFacts, *, _: Translate) -> Picture:
    """Above, the numbers as they were; below, where they fall; a line joins each pair."""
    grid = facts.grid
    falls = marks.line(
        np.stack([grid.exact, grid.rounded, np.full_like(grid.exact, np.nan)], 1).ravel(),
        np.tile([1.0, 0.0, np.nan], len(grid.exact)),
        line={"color": faint(palette.RESIDUAL, 0.45), "width": 1},
        hoverinfo="skip",
        showlegend=False,
    )
    return figure(
        [
            falls,
            _ticks(grid.points, -0.08, _("grid points"), palette.BEFORE, "line-ns-open", 16),
            _ticks(grid.exact, 1.0, _("weights"), palette.RESIDUAL, "circle", 6),
            _ticks(grid.rounded, 0.0, _("rounded"), palette.ATTENTION, "circle", 6),
        ],
        title=_("How the weights of one row are rounded"),
        **room_under_legend(PLOT, BOTTOM),
        xaxis={"title": _("value"), "zeroline": False},
        yaxis={"visible": False, "range": [-0.3, 1.25]},
    )


def _ticks(
    values: np.ndarray, height: float, name: str, color: str, symbol: str, size: int
) -> dict[str, Any]:
    return marks.dots(
        small(values),
        [height] * len(values),
        name=name,
        marker={"color": color, "symbol": symbol, "size": size, "line": {"color": color}},
        hovertemplate="%{x:.4g}<extra>" + name + "</extra>",
    )


def noise(facts: RoundingFacts, *, _: Translate) -> Picture:
    """Signal to noise of each matrix in decibels: layers down, parts across; a click returns it."""
    look = {"zmin": LOUD, "zmax": QUIET, "colorscale": NOISE, "texttemplate": "%{z:.0f}"}
    return matrix_map(
        facts.rows,
        facts.rows["sqnr"],
        look,
        _("{matrix}: {value:.1f} dB; input channels with outliers: {outlier_channels}"),
        _,
        marked="outlier_channels",
        name=_("dB"),
        title=_("Signal-to-noise ratio, dB (•: outliers)"),
        pinned=facts.grid.matrix,
    )


def blame(facts: BlameFacts, *, _: Translate) -> Picture:
    """What the loss rises by where one matrix alone is rounded; the worst is framed."""
    thousandths = 1000 * facts.rows["blame"]
    most = max(float(thousandths.max()), 1e-3)
    look = {"zmin": 0, "zmax": most, "colorscale": PALE_TO_STRONG, "texttemplate": "%{z:.1f}"}
    return matrix_map(
        facts.rows,
        thousandths,
        look,
        _("{matrix}: {value:.1f} millinats"),
        _,
        name=_("millinats"),
        title=_("Loss added by each matrix, millinats"),
        pinned=facts.worst["matrix"],
    )
