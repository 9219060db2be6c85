"""Heads, or whole parts, of all layers as cells: layers down, heads across."""

from collections.abc import Sequence
from typing import Any

from pages.figures import marks
from pages.figures.axes import BARE, plot_room, row_names
from pages.figures.theme import Picture, Translate, figure
from pages.figures.weights import outline

ROW, ROW_OF_MANY, MANY, BOTTOM, TICKS, CELL = 30, 18, 16, 64, 34, 26


def grid(
    heat: dict[str, Any],
    hovers: Sequence[str],
    returns: Sequence[Any],
    *,
    title: str,
    layers: Sequence[int],
    columns: Sequence[str],
    across: str,
    selected: Sequence[int] = (),
    annotations: Sequence[dict[str, Any]] = (),
    _: Translate,
) -> Picture:
    """`heat`: the cells in colors, (row, column).

    `hovers`: what each says under the cursor, row by row, empty where there is nothing to say and
    to click; `returns`: what a click on it gives. `layers`: what the rows are, from 0; `across`:
    what the columns are; `selected`: the cells that are outlined, counted row by row.
    """
    n_columns = len(columns)
    cells = [i for i, said in enumerate(hovers) if said]
    targets = marks.targets(
        [i % n_columns for i in cells],
        [i // n_columns for i in cells],
        [returns[i] for i in cells],
        CELL,
        **marks.told(hovers[i] for i in cells),
    )
    return figure(
        [{**heat, "xgap": 2, "ygap": 2}, targets],
        title=title,
        **plot_room(row_height(len(layers)) * max(2, len(layers)), BOTTOM),
        xaxis={
            "title": across,
            "tickvals": list(range(n_columns)),
            "ticktext": list(columns) if n_columns <= TICKS else [],
            **BARE,
        },
        yaxis=row_names([str(layer + 1) for layer in layers], title=_("layer"), **BARE),
        shapes=[outline(i % n_columns - 0.5, i // n_columns - 0.5, 1, 1) for i in selected],
        annotations=list(annotations),
    )


def row_height(n_rows: int) -> int:
    """Pixels of a row: less where a model is deep."""
    return ROW if n_rows <= MANY else ROW_OF_MANY
