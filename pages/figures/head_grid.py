"""Every head of a model as one cell: layers down, heads across."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pages.figures import marks
from pages.figures.axes import BARE, plot_room, row_names
from pages.figures.theme import Picture, Translate, figure
from pages.figures.weights import outline

ROW, ROW_OF_MANY, MANY, BOTTOM, TICKS, CELL = 30, 18, 16, 64, 34, 26


def grid(
    heat: dict[str, Any],
    hovers: Sequence[str],
    *,
    title: str,
    layers: Sequence[int],
    columns: Sequence[str],
    selected: Sequence[tuple[int, int]] = (),
    across: str = "",
    annotations: Sequence[dict[str, Any]] = (),
    returns: Sequence[Any] = (),
    _: Translate,
) -> Picture:
    """`heat`: the cells in colours, (row, column); `hovers`: one a cell, row by row.

    `layers`: what the rows are, from 0; `selected`: rows and columns that are outlined; `across`:
    what the columns are. A click returns layer and column, or else what `returns` has for the cell.
    """
    n_rows, n_columns = len(layers), len(columns)
    row, column = (each.ravel() for each in np.indices((n_rows, n_columns)))
    given = returns or [[layers[i], j] for i, j in zip(row.tolist(), column.tolist(), strict=True)]
    targets = marks.targets(column.tolist(), row.tolist(), given, CELL, **marks.told(hovers))
    height = (ROW if n_rows <= MANY else ROW_OF_MANY) * max(2, n_rows)
    return figure(
        [{**heat, "xgap": 2, "ygap": 2}, targets],
        title=title,
        **plot_room(height, BOTTOM),
        xaxis={
            "title": across or _("head"),
            "tickvals": list(range(n_columns)),
            "ticktext": list(columns) if n_columns <= TICKS else [],
            **BARE,
        },
        yaxis=row_names([str(layer + 1) for layer in layers], title=_("layer"), **BARE),
        shapes=[outline(j - 0.5, i - 0.5, 1, 1) for i, j in selected],
        annotations=list(annotations),
    )
