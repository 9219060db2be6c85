"""How far the next token moves, in bits, where something of the source is missing."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pages.figures.cell_numbers import cell_numbers
from pages.figures.theme import WEIGHTS, Picture, Translate, small
from pages.figures.token_matrix import Names, marks, token_matrix

LEAST_SCALE = 1e-6


def moved(
    bits: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    title: str,
    down: str,
    pinned: int | None,
    pinned_row: int | None = None,
    _: Translate,
) -> Picture:
    """What is missing down, the next token across; a click returns [row, column, bits].

    `bits`: (rows, columns); `columns`: the tokens that were written, each after those before it.
    """
    across = _("target tokens as generated")
    names = Names(title, down, across, rows, columns)
    most = max(LEAST_SCALE, float(np.nanmax(bits, initial=0)))
    said = _("{bits} bits").format(bits="%{customdata[2]:.3g}")
    return token_matrix(
        _heat(bits, most, _),
        [marks(~np.isnan(bits), bits, said), *cell_numbers(bits, bits / most)],
        names,
        pinned=pinned_row,
        pinned_column=pinned,
    )


def _heat(bits: np.ndarray, most: float, _: Translate) -> dict[str, Any]:
    return {
        "type": "heatmap",
        "z": small(bits),
        "zmin": 0,
        "zmax": most,
        "colorscale": [list(stop) for stop in WEIGHTS],
        "hoverinfo": "skip",
        "xgap": 1,
        "ygap": 1,
        "colorbar": {
            "title": {"text": _("bits (KL)"), "side": "right"},
            "thickness": 10,
            "outlinewidth": 0,
        },
    }
