"""Numbers of either sign as colour: one byte per cell, 0 clear, masked cells told apart."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pages.figures import marks, palette
from pages.figures.weights import MASKED_CODE

LEAST, ZERO, MOST = 2, 126, 250
MOST_SAID = "most"
TICKS = (-1, -0.5, 0, 0.5, 1)  # shares of `most`
POSITIVE, NEGATIVE = (20, 130, 210), (226, 145, 0)


def signed_map(values: np.ndarray, most: float | None = None, **more: Any) -> dict[str, Any]:
    """A heatmap that diverges around 0, NaN drawn as masked.

    The strongest colour is `most`, or the largest size of the values themselves.
    """
    cells = marks.heat(
        signed_codes(values, most),
        zmin=MASKED_CODE,
        zmax=MOST,
        colorscale=_scale(),
        showscale=False,
        meta={MOST_SAID: most or largest(values)},
    )
    return {**cells, **more}


def largest(values: np.ndarray) -> float:
    """The largest size of all that are numbers; 1 where all are 0 or masked."""
    there = np.abs(values[np.isfinite(values)])
    return float(there.max()) if there.any() else 1.0


def signed_codes(values: np.ndarray, most: float | None = None) -> np.ndarray:
    """−most, 0, most as 2, 126, 250, and NaN as masked: same shape, one byte per cell."""
    share = np.clip(values / (most or largest(values)), -1, 1)
    steps = np.nan_to_num(share) * (ZERO - LEAST)
    codes = np.rint(ZERO + steps).astype(np.uint8)
    return np.where(np.isnan(values), MASKED_CODE, codes).astype(np.uint8)


def values_of(codes: np.ndarray, most: float) -> np.ndarray:
    """The values that such codes stand for, NaN where masked."""
    return np.where(
        codes == MASKED_CODE, np.nan, (codes.astype(float) - ZERO) * most / (ZERO - LEAST)
    )


def signed_bar(
    values: np.ndarray, title: str, most: float | None = None, *, at: Sequence[float] = TICKS
) -> dict[str, Any]:
    """The scale beside such a map, with ticks at these shares of `most`."""
    places = [ZERO + share * (MOST - ZERO) for share in at]
    texts = _ticks(places, most or largest(values))
    return marks.color_bar(title, tickvals=places, ticktext=texts)


def _ticks(places: Sequence[float], most: float) -> list[str]:
    values = [(place - ZERO) / (MOST - ZERO) * most for place in places]
    return [f"{value:.0f}" if abs(value) >= 100 else f"{value:.2g}" for value in values]


def most_of(trace: dict[str, Any]) -> float | None:
    """What the strongest colour of such a map means; None of another trace."""
    meta = trace.get("meta")
    return meta.get(MOST_SAID) if isinstance(meta, dict) else None


def with_most(trace: dict[str, Any], most: float) -> dict[str, Any]:
    """Rescale a map so that its strongest colour means `most`, no less than before."""
    codes = np.asarray(trace["z"])
    steps = (codes.astype(np.float32) - ZERO) * ((most_of(trace) or most) / most)
    z = np.where(codes == MASKED_CODE, MASKED_CODE, np.rint(ZERO + steps)).astype(np.uint8)
    if "colorbar" not in trace:
        return {**trace, "z": z}
    texts = _ticks(trace["colorbar"]["tickvals"], most)
    return {**trace, "z": z, "colorbar": {**trace["colorbar"], "ticktext": texts}}


def _scale() -> list[tuple[float, str]]:
    least = (LEAST - 0.5 - MASKED_CODE) / (MOST - MASKED_CODE)
    zero = (ZERO - MASKED_CODE) / (MOST - MASKED_CODE)
    return [
        (0, palette.MASKED),
        (least, palette.MASKED),
        (least, _color(NEGATIVE, 1)),
        (zero - 0.2, _color(NEGATIVE, 0.36)),
        (zero, _color(POSITIVE, 0.02)),
        (zero + 0.2, _color(POSITIVE, 0.36)),
        (1, _color(POSITIVE, 1)),
    ]


def _color(rgb: tuple[int, int, int], alpha: float) -> str:
    return f"rgba({rgb[0]}, {rgb[1]}, {rgb[2]}, {alpha})"
