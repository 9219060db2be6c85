"""Rounding as it is seen: numbers that fall onto a grid, and the noise of each matrix."""

from typing import Any

import numpy as np
import pandas as pd

from blocks.efficiency.blame_facts import BlameFacts
from blocks.efficiency.rounding_facts import RoundingFacts
from pages.figures import marks
from pages.figures.counting import from_one
from pages.figures.theme import (
    ATTENTION,
    BEFORE,
    PINNED,
    RESIDUAL,
    TITLE,
    TITLE_AND_LEGEND,
    Picture,
    Translate,
    faint,
    figure,
    legend,
    small,
)

HEIGHT, BOTTOM, ROW = 300, 44, 34
BLAME = ((0.0, "rgba(213, 94, 0, 0.03)"), (1.0, "rgba(213, 94, 0, 0.95)"))
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
        line={"color": faint(RESIDUAL, 0.45), "width": 1},
        hoverinfo="skip",
        showlegend=False,
    )
    return figure(
        [
            falls,
            _ticks(grid.points, -0.08, _("points of the grid"), BEFORE, "line-ns-open", 16),
            _ticks(grid.exact, 1.0, _("weights"), RESIDUAL, "circle", 6),
            _ticks(grid.rounded, 0.0, _("rounded"), ATTENTION, "circle", 6),
        ],
        title=_("Where the numbers of one row fall"),
        height=HEIGHT,
        margin=(TITLE_AND_LEGEND, BOTTOM),
        **legend(),
        xaxis={"title": {"text": _("value")}, "zeroline": False},
        yaxis={"visible": False, "range": [-0.3, 1.25]},
    )


def _ticks(
    values: np.ndarray, height: float, name: str, color: str, symbol: str, size: int
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": small(values),
        "y": [height] * len(values),
        "name": name,
        "marker": {"color": color, "symbol": symbol, "size": size, "line": {"color": color}},
        "hovertemplate": "%{x:.4g}<extra>" + name + "</extra>",
    }


def noise(facts: RoundingFacts, *, _: Translate) -> Picture:
    """Signal to noise of each matrix in decibels: layers down, parts across; a click returns it."""
    look = {"zmin": LOUD, "zmax": QUIET, "colorscale": NOISE, "texttemplate": "%{z:.0f}"}
    return _layer_map(
        facts.rows.rename(columns={"sqnr": "shown"}),
        look,
        _("{matrix}: {value:.1f} dB"),
        _,
        name=_("dB"),
        title=_("Signal to noise of each matrix, dB: low is loud noise"),
        pinned=facts.grid.matrix,
    )


def blame(facts: BlameFacts, *, _: Translate) -> Picture:
    """What the loss rises by where one matrix alone is rounded; the worst is framed."""
    rows = facts.rows.assign(shown=1000 * facts.rows["blame"])
    most = max(float(rows.loc[rows["layer"] >= 0, "shown"].max()), 1e-3)
    look = {"zmin": 0, "zmax": most, "colorscale": BLAME, "texttemplate": "%{z:.1f}"}
    return _layer_map(
        rows,
        look,
        _("{matrix}: {value:.1f} thousandths of a nat"),
        _,
        name=_("nats / 1000"),
        title=_("Loss that each matrix costs, nats / 1000"),
        pinned=facts.worst["matrix"],
    )


def _layer_map(
    rows: pd.DataFrame, look: dict[str, Any], hover: str, _: Translate, **said: str
) -> Picture:
    """A cell for each matrix in a layer, by its column `shown`; a click returns the matrix."""
    rows = rows[rows["layer"] >= 0].assign(place=_places)
    places, parts = [*dict.fromkeys(rows["place"])], [*dict.fromkeys(rows["part"])]
    table = rows.pivot(index="place", columns="part", values="shown").loc[places, parts]
    names = rows.pivot(index="place", columns="part", values="matrix").loc[places, parts]
    cells = {
        "type": "heatmap",
        "z": table.to_numpy(),
        **look,
        "showscale": False,
        "name": said["name"],
        "hoverinfo": "skip",
        "xgap": 1,
        "ygap": 1,
    }
    targets = marks.targets(
        np.tile(np.arange(len(parts)), len(places)),
        np.repeat(np.arange(len(places)), len(parts)),
        [[name] for name in names.to_numpy().ravel()],
        ROW - 6,
        **marks.told(_hovers(table.to_numpy(), names.to_numpy(), hover)),
    )
    return figure(
        [cells, targets],
        title=said["title"],
        height=TITLE + ROW * max(3, len(places)) + 90,
        margin=(TITLE, BOTTOM + 40),
        shapes=_framed(said["pinned"], names.to_numpy()),
        **_axes(places, parts, _),
    )


def _axes(places: list[str], parts: list[str], _: Translate) -> dict[str, Any]:
    """Layers down, parts across."""
    return {
        "xaxis": {
            "tickvals": list(range(len(parts))),
            "ticktext": [_part_name(part) for part in parts],
            "tickangle": -45,
            "showgrid": False,
        },
        "yaxis": {
            "showgrid": False,
            "tickvals": list(range(len(places))),
            "ticktext": places,
            "title": {"text": _("layer")},
            "range": [len(places) - 0.5, -0.5],
        },
    }


def _part_name(part: str) -> str:
    return f"×{part.split('.')[-1]}" if "cross" in part else part.split(".")[-1]


def _places(rows: Any) -> list[str]:
    pairs = zip(rows["stack"], rows["layer"], strict=True)
    return [f"{stack} {from_one(layer)}".strip() for stack, layer in pairs]


def _hovers(values: np.ndarray, names: np.ndarray, text: str) -> list[str]:
    pairs = zip(names.ravel(), values.ravel(), strict=True)
    return [text.format(matrix=name, value=value) for name, value in pairs]


def _framed(matrix: str, names: np.ndarray) -> list[dict[str, Any]]:
    found = np.argwhere(names == matrix)
    return [
        {
            "type": "rect",
            "x0": x - 0.5,
            "x1": x + 0.5,
            "y0": y - 0.5,
            "y1": y + 0.5,
            "line": {"color": PINNED, "width": 2},
        }
        for y, x in found
    ]
