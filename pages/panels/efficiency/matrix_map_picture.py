"""A number of every matrix of a model: layers down, parts across."""

from typing import Any, cast

import numpy as np
import pandas as pd

from blocks.efficiency.matrix_places import place_of
from pages.figures import marks, palette
from pages.figures.counting import from_one
from pages.figures.theme import TITLE, Picture, Translate, figure

BOTTOM, ROW = 84, 34
PALE_TO_STRONG = ((0.0, "rgba(213, 94, 0, 0.03)"), (1.0, "rgba(213, 94, 0, 0.95)"))


def matrix_name(matrix: str, _: Translate) -> str:
    """What a weight is called on the screen, where layers count from 1: q_proj in layer 1."""
    place = place_of(matrix)
    if place["layer"] == -1:
        return str(place["part"])
    layer = _place(str(place["stack"]), cast(int, place["layer"]), _)
    return _("{part} in layer {layer}").format(part=place["part"], layer=layer)


def matrix_map(
    rows: pd.DataFrame,
    values: pd.Series,
    look: dict[str, Any],
    hover: str,
    _: Translate,
    marked: str = "",
    **said: str,
) -> Picture:
    """A cell for each matrix with its value; a click returns the matrix.

    Below the layers stands what belongs to none, as embeddings do. `hover` may name any column of
    `rows`. A dot goes where the column `marked` is not 0. `said`: name, title, and the
    matrix that is `pinned`.
    """
    rows = rows.assign(shown=values)
    rows = rows.sort_values("layer", key=lambda layer: layer < 0, kind="stable")
    stands = [_place(*at, _) for at in zip(rows["stack"], rows["layer"], strict=True)]
    places, parts = [*dict.fromkeys(stands)], [*dict.fromkeys(rows["part"])]
    x, y = [*map(parts.index, rows["part"])], [*map(places.index, stands)]
    table = np.full((len(places), len(parts)), np.nan)
    table[y, x] = rows["shown"]
    cells = marks.heat(table, **look, showscale=False, name=said["name"], xgap=1, ygap=1)
    named = [*zip(rows["matrix"], rows["shown"], x, y, strict=True)]
    records: list[dict[Any, Any]] = rows.to_dict("records")
    names = [matrix_name(each, _) for each in rows["matrix"]]
    hovers = [
        hover.format(**{**row, "matrix": name}, value=row["shown"])
        for row, name in zip(records, names, strict=True)
    ]
    targets = marks.targets(x, y, [[name] for name, *_at in named], ROW - 6, **marks.told(hovers))
    dotted = rows[marked].to_numpy() > 0 if marked else np.zeros(len(rows), dtype=bool)
    return figure(
        [cells, targets, *_corner_dots(np.array(x)[dotted], np.array(y)[dotted])],
        title=said["title"],
        height=TITLE + ROW * max(3, len(places)) + 90,
        margin=(TITLE, BOTTOM),
        shapes=[_frame(*at) for name, _value, *at in named if name == said["pinned"]],
        **_axes(places, parts, _),
    )


def _corner_dots(x: np.ndarray, y: np.ndarray) -> list[dict[str, Any]]:
    """A dot in the upper right of each of these cells, if there are any."""
    if not len(x):
        return []
    look = {"color": palette.ATTENTION, "size": 7}
    return [marks.dots(x + 0.36, y - 0.28, marker=look, hoverinfo="skip", showlegend=False)]


def _place(stack: str, layer: int, _: Translate) -> str:
    return f"{stack} {from_one(layer)}".strip() if layer >= 0 else _("outside the layers")


def _axes(places: list[str], parts: list[str], _: Translate) -> dict[str, Any]:
    """Layers down, parts across."""
    return {
        "xaxis": {
            "tickvals": [*range(len(parts))],
            "ticktext": ["×" * ("cross" in part) + part.split(".")[-1] for part in parts],
            "tickangle": -45,
            "showgrid": False,
        },
        "yaxis": {
            "showgrid": False,
            "zeroline": False,
            "tickvals": [*range(len(places))],
            "ticktext": places,
            "title": _("layer"),
            "range": [len(places) - 0.5, -0.5],
        },
    }


def _frame(x: int, y: int) -> dict[str, Any]:
    return {
        "type": "rect",
        "x0": x - 0.5,
        "x1": x + 0.5,
        "y0": y - 0.5,
        "y1": y + 0.5,
        "line": {"color": palette.PINNED, "width": 2},
    }
