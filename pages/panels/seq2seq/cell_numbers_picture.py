"""Values written in the cells of a matrix of tokens, where a phone has room for them."""

from typing import Any

import numpy as np

from pages.figures import marks
from pages.figures.matrix import NUMBERS_UP_TO

DARK_FROM, ROOMY_UP_TO = 0.7, 8
LARGE, SMALL = 10, 8
ON_DARK = "#ffffff"


def cell_numbers(values: np.ndarray, strength: np.ndarray) -> list[dict[str, Any]]:
    """Each value in its cell, white where the cell is dark; NaN is left out.

    `strength`: how strong the colour of each cell is, 0 to 1. Nothing where cells are narrow.
    """
    if max(values.shape) > NUMBERS_UP_TO:
        return []
    size = LARGE if values.shape[1] <= ROOMY_UP_TO else SMALL
    is_dark = strength >= DARK_FROM
    looks = ((~is_dark, {"size": size}), (is_dark, {"size": size, "color": ON_DARK}))
    traces = (_written(values, where & ~np.isnan(values), font) for where, font in looks)
    return [each for each in traces if each["x"]]


def _written(values: np.ndarray, where: np.ndarray, font: dict[str, Any]) -> dict[str, Any]:
    rows, columns = np.nonzero(where)
    return marks.words(
        columns.tolist(),
        rows.tolist(),
        [few_signs(float(x)) for x in values[rows, columns]],
        xaxis="x2",
        yaxis="y2",
        textfont=font,
    )


def few_signs(x: float) -> str:
    """A number in three signs and, where it has one, its minus: .66, 1.0, 12."""
    size = abs(x)
    if size < 0.005:
        return "0"
    if size < 0.995:
        text = f"{x:.2f}".replace("0.", ".", 1)
    else:
        text = f"{x:.1f}" if size < 9.95 else f"{x:.0f}"
    return text.replace("-", "−")
