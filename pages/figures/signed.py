"""Numbers of either sign as colour: one byte a cell, 0 clear, masked cells told apart."""

from typing import Any

import numpy as np

from pages.figures.theme import MASKED
from pages.figures.weights import MASKED_CODE

LEAST, ZERO, MOST = 2, 126, 250
POSITIVE, NEGATIVE = (20, 130, 210), (226, 145, 0)


def signed_map(values: np.ndarray, **more: Any) -> dict[str, Any]:
    """A heatmap that diverges around 0, NaN drawn as masked; the strongest colour is `largest`."""
    return {
        "type": "heatmap",
        "z": signed_codes(values),
        "zmin": MASKED_CODE,
        "zmax": MOST,
        "colorscale": _scale(),
        "hoverinfo": "skip",
        "showscale": False,
        **more,
    }


def largest(values: np.ndarray) -> float:
    """The largest size of all that are numbers; 1 where all are 0 or masked."""
    there = np.abs(values[np.isfinite(values)])
    return float(there.max()) if there.any() else 1.0


def signed_codes(values: np.ndarray) -> np.ndarray:
    """−largest, 0, largest as 2, 126, 250, and NaN as masked: same shape, one byte a cell."""
    steps = np.nan_to_num(values / largest(values)) * (ZERO - LEAST)
    codes = np.rint(ZERO + steps).astype(np.uint8)
    return np.where(np.isnan(values), MASKED_CODE, codes).astype(np.uint8)


def signed_bar(values: np.ndarray, title: str) -> dict[str, Any]:
    """The scale beside such a map."""
    most = largest(values)
    return {
        "title": {"text": title, "side": "right"},
        "tickvals": [LEAST, (LEAST + ZERO) / 2, ZERO, (ZERO + MOST) / 2, MOST],
        "ticktext": [f"{part * most:.2g}" for part in (-1, -0.5, 0, 0.5, 1)],
        "thickness": 10,
        "outlinewidth": 0,
    }


def _scale() -> list[tuple[float, str]]:
    least = (LEAST - 0.5 - MASKED_CODE) / (MOST - MASKED_CODE)
    zero = (ZERO - MASKED_CODE) / (MOST - MASKED_CODE)
    return [
        (0, MASKED),
        (least, MASKED),
        (least, _color(NEGATIVE, 1)),
        (zero - 0.2, _color(NEGATIVE, 0.36)),
        (zero, _color(POSITIVE, 0.02)),
        (zero + 0.2, _color(POSITIVE, 0.36)),
        (1, _color(POSITIVE, 1)),
    ]


def _color(rgb: tuple[int, int, int], alpha: float) -> str:
    return f"rgba({rgb[0]}, {rgb[1]}, {rgb[2]}, {alpha})"
