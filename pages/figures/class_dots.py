"""The numbers that a class has guessed: a dot for each on a line, piled where they are close."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from pages.figures import marks
from pages.figures.guess_cell import GUESS, TRUTH
from pages.figures.marks import ground, line
from pages.figures.numbers import readable, with_unit
from pages.figures.theme import Picture, Translate, faint, figure, legend

HEIGHT, FONT = 300, {"size": 15}  # it is read from the back row
N_PILES, LEAST_ROWS, N_TICKS = 48, 4, 5
LARGEST, SMALLEST, OF_THE_DOTS = 18, 3, 190  # pixels: a dot, the least one, the highest pile
BAND = faint(TRUTH, 0.2)
FAR, EDGE = 3.0, 0.04  # ranges between the quartiles; the share of the axis kept free at its ends


def picture(
    guesses: Sequence[float],
    measured: float | None,
    unit: str,
    title: str,
    tolerance: float,
    *,
    _: Translate,
) -> Picture:
    """A dot for each learner; the measured number is a line, None: it is not shown yet.

    `tolerance`: the share of it by which a guess may be off and is right, a band around the line.

    A guess far beyond the others does not squeeze them: it is an arrow at the end of the axis.
    """
    low, high = _ends(guesses, measured)
    x = np.clip(np.asarray(guesses, dtype=float), low, high)
    y, top = _piled(x, low, high)
    symbols = [
        "circle" if low <= guess <= high else "triangle-right" if guess > high else "triangle-left"
        for guess in guesses
    ]
    dots = marks.dots(
        x,
        y,
        marker={
            "color": faint(GUESS, 0.85),
            "size": max(SMALLEST, min(LARGEST, OF_THE_DOTS / top)),
            "symbol": symbols,
        },
        customdata=[with_unit(readable(guess), unit) for guess in guesses],
        hovertemplate="%{customdata}<extra></extra>",
        name=_("guessed"),
        cliponaxis=False,
    )
    pad = EDGE * (high - low)
    return figure(
        [*_truth(measured, unit, tolerance, top + 0.5, _), dots],
        title=title,
        margin=(64, 40),
        height=HEIGHT,
        xaxis={"title": unit, "range": [low - pad, high + pad], "zeroline": False},
        yaxis={
            "title": _("learners"),
            "range": [0, top + 0.5],
            "tick0": 0,
            "dtick": -(-top // N_TICKS),
            "showgrid": False,
        },
        shapes=_right(measured, tolerance),
        font=FONT,
        **legend(),
    )


def _right(measured: float | None, tolerance: float) -> list[dict[str, Any]]:
    """Where a guess counts as right."""
    if measured is None:
        return []
    ends = measured - tolerance * abs(measured), measured + tolerance * abs(measured)
    return [ground(*ends, BAND)]


def _ends(guesses: Sequence[float], measured: float | None) -> tuple[float, float]:
    """The ends of the axis: guesses that are not far beyond the others, and what was measured.

    That stands between 0 and twice as much, so that what is close by looks so.
    """
    kept = [] if measured is None else [0.0, 2 * measured]
    if guesses:
        first, middle, third = np.quantile(guesses, (0.25, 0.5, 0.75))
        reach = max(FAR * (third - first), 2 * abs(middle))
        kept += [each for each in guesses if not reach or first - reach <= each <= third + reach]
    low, high = min(kept, default=0.0), max(kept, default=1.0)
    if low == high:
        wide = abs(low) / 2 or 0.5
        return low - wide, high + wide
    return low, high


def _piled(x: np.ndarray, low: float, high: float) -> tuple[list[int], int]:
    """How high each dot stands on those at its place, and how many rows there are."""
    columns = np.round((x - low) / (high - low) * (N_PILES - 1)).astype(int).tolist()
    piled, y = Counter[int](), list[int]()
    for column in columns:
        piled[column] += 1
        y.append(piled[column])
    return y, max(LEAST_ROWS, *piled.values(), 0)


def _truth(
    measured: float | None, unit: str, tolerance: float, top: float, _: Translate
) -> list[dict[str, Any]]:
    """The number as a line, and what the band around it is called."""
    if measured is None:
        return []
    name = _("Measured: {truth}.").format(truth=with_unit(readable(measured), unit))
    right = _("Right: at most {share:.0%} off").format(share=tolerance)
    look, square = {"color": TRUTH, "width": 4}, {"color": BAND, "size": 14, "symbol": "square"}
    return [
        line([measured, measured], [0, top], name=name, mode="lines", line=look),
        line([None], [None], name=right, mode="markers", marker=square),
    ]
