"""Attention weights as colour: one byte per cell, masked cells and gutters told apart."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pages.figures import marks, palette
from pages.figures.theme import Translate, faint

CODES = 250
BLANK_CODE, MASKED_CODE, LEAST_CODE = 0, 1, 2
TICKS = (0, 0.25, 0.5, 0.75, 1)


def weight_map(z: np.ndarray, _: Translate, **more: Any) -> dict[str, Any]:
    """A heatmap of codes: 0 is a gutter or left blank, 1 is masked, 2 to 250 are weights 0 to 1."""
    bar = weight_bar(_("weight"))
    cells = marks.heat(z, zmin=0, zmax=CODES, colorscale=_code_scale(), colorbar=bar)
    return {**cells, **more}


def weight_bar(title: str, *, at: Sequence[float] = TICKS) -> dict[str, Any]:
    places = [LEAST_CODE + tick * (CODES - LEAST_CODE) for tick in at]
    return marks.color_bar(title, tickvals=places, ticktext=[f"{tick:g}" for tick in at])


def codes(weights: np.ndarray) -> np.ndarray:
    """Weights 0 to 1, none of them masked, as codes: same shape, one byte per cell."""
    steps = np.rint(weights.astype(np.float32) * (CODES - LEAST_CODE))
    return (steps + LEAST_CODE).astype(np.uint8)


def _code_scale() -> list[tuple[float, str]]:
    gutter, masked = (MASKED_CODE - 0.5) / CODES, (MASKED_CODE + 0.5) / CODES
    least = LEAST_CODE / CODES
    return [
        (0, "rgba(0, 0, 0, 0)"),
        (gutter, "rgba(0, 0, 0, 0)"),
        (gutter, palette.MASKED),
        (masked, palette.MASKED),
        (masked, palette.WEIGHTS[0][1]),
        *((least + (1 - least) * weight, color) for weight, color in palette.WEIGHTS),
    ]


def outline(x: float, y: float, width: float, height: float) -> dict[str, Any]:
    """What is chosen or pinned, outlined in the same colour everywhere."""
    line = {"color": palette.PINNED, "width": 2.5}
    return {"type": "rect", "x0": x, "x1": x + width, "y0": y, "y1": y + height, "line": line}


def behind(bar: float) -> dict[str, Any]:
    """What is chosen among bars: the ground behind it, since a frame would look like a bar."""
    return marks.ground(bar - 0.5, bar + 0.5, faint(palette.PINNED, 0.22))
