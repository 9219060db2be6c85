"""All heads as a table of colours: a row per head, a column per measure."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from pages.figures import marks
from pages.figures.axes import BARE, row_names
from pages.figures.theme import TITLE, Picture, Translate, figure
from pages.figures.token_axis import text_width
from pages.figures.weights import codes, outline, weight_map

ROW, TOP, BOTTOM = 20, 84, 10
FEW_SIGNS = re.compile("（[^）]*）|[^（]{1,4}")


def measures(
    numbers: np.ndarray,
    shares: np.ndarray,
    *,
    heads: Sequence[str],
    columns: Sequence[str],
    returns: Sequence[tuple[int, int]],
    selected: int | None,
    is_narrow: bool = False,
    _: Translate,
) -> Picture:
    """`numbers`: (head, measure), written; `shares`: the same from 0 to 1, drawn.

    `heads`, `columns`: what they are called; a click on a row returns its layer and head.
    `is_narrow`: columns have no room for a word, so their names stand upright.
    """
    n_heads, n_columns = numbers.shape
    top = TITLE + max(map(text_width, columns)) if is_narrow else TOP
    text = [[f"{x:.2f}" for x in row] for row in numbers]
    heat = weight_map(codes(shares), _, showscale=False, xgap=3, ygap=1)
    return figure(
        [{**heat, "text": text, "texttemplate": "%{text}"}, _targets(n_columns, returns)],
        title=_("All heads, one row each"),
        height=height(n_heads, top),
        margin=(top, BOTTOM),
        xaxis={
            "tickvals": list(range(n_columns)),
            "ticktext": [*columns] if is_narrow else [_in_lines(name) for name in columns],
            "side": "top",
            "tickangle": -90 if is_narrow else 0,
            "range": [-0.5, n_columns - 0.5],
            **BARE,
        },
        yaxis=row_names(heads, **BARE),
        shapes=[] if selected is None else [outline(-0.5, selected - 0.5, n_columns, 1)],
    )


def height(n_heads: int, top: int = TOP) -> int:
    """Pixels of such a picture."""
    return top + BOTTOM + ROW * n_heads


def _in_lines(name: str) -> str:
    """A word a line; Chinese, which has no spaces, a few signs a line, brackets on their own."""
    return "<br>".join(name.split(" ") if name.isascii() else FEW_SIGNS.findall(name))


def _targets(n_columns: int, returns: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Invisible markers over the cells."""
    rows = range(len(returns))
    return marks.targets(
        list(range(n_columns)) * len(returns),
        [i for i in rows for _column in range(n_columns)],
        [list(head) for head in returns for _column in range(n_columns)],
        18,
        hoverinfo="none",
    )
