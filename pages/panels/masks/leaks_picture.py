"""Which outputs depend on which tokens: allowed cells in blue, leaks in a colour of their own."""

import math
from typing import Any

import numpy as np

from blocks.inspection.leaks import LeakFacts
from pages.figures import marks, palette
from pages.figures.theme import Picture, Translate
from pages.figures.token_matrix import Names, alarms, cell_marks, hatching, token_matrix

LEAK = "194, 24, 91"
FORBIDDEN, STILL = 0, 1
ALLOWED, LEAKING = (2, 122), (129, 249)
MOST_DECADES = 8.0


def moved(facts: LeakFacts, *, pinned: int, _: Translate) -> Picture:
    """How far each output moves when one token changes."""
    title = _("How much outputs change when one token changes")
    columns = [facts.labels[i] for i in facts.tokens]
    names = Names(title, _("output"), _("changed token"), facts.labels, columns)
    reads_tokens = facts.test.run.config.architecture.reads_tokens
    unit = _("max |Δ logit|") if reads_tokens else _("max |Δ output|")
    cells = facts.forbidden_when_changed
    return leak_map(facts.moved, cells, names, unit=unit, pinned=pinned, _=_)


def gradient(facts: LeakFacts, *, pinned: int, _: Translate) -> Picture:
    """How strongly each output depends on each token."""
    assert facts.gradient is not None
    title = _("Gradient of outputs with respect to token embeddings")
    cells = facts.forbidden_when_followed
    rows = [facts.labels[i] for i in facts.outputs]
    names = Names(title, _("output"), _("token"), rows, facts.labels)
    row = facts.outputs.index(pinned) if pinned in facts.outputs else None
    return leak_map(facts.gradient, cells, names, unit=_("‖∂output/∂input‖"), pinned=row, _=_)


def leak_map(
    values: np.ndarray,
    forbidden: np.ndarray,
    names: Names,
    *,
    unit: str,
    pinned: int | None = None,
    _: Translate,
) -> Picture:
    """How strongly each output depends on each token, (output, token), on a logarithmic scale.

    `forbidden`, the same shape: must be exactly 0. A click returns [output, token, value].
    """
    is_number = np.isfinite(values)
    leaks = forbidden & is_number & (values > 0)
    least, most = _decades(values[is_number])
    quiet = forbidden & is_number & ~leaks
    value = _("{unit}: {x}").format(unit=unit, x="%{customdata[2]:.3g}")
    return token_matrix(
        marks.heat(
            _codes(values, forbidden, least, most),
            zmin=0,
            zmax=LEAKING[1] if leaks.any() else ALLOWED[1],
            colorscale=_scale(has_leaks=bool(leaks.any())),
            colorbar=_bar(least, most, unit, has_leaks=bool(leaks.any()), _=_),
        ),
        [
            cell_marks(~forbidden & is_number, values, value),
            hatching(quiet, values, _("forbidden: exactly 0")),
            alarms(leaks, values, _("LEAK") + f" · {value}"),
            hatching(~is_number, values, _("NaN")),
        ],
        names,
        pinned=pinned,
    )


def _decades(values: np.ndarray) -> tuple[float, float]:
    """Powers of ten at both ends of the scale."""
    positive = values[values > 0]
    if not len(positive):
        return -1.0, 0.0
    most = float(np.ceil(np.log10(positive.max())))
    least = float(np.floor(np.log10(positive.min())))
    return max(min(least, most - 1), most - MOST_DECADES), most


def _codes(values: np.ndarray, forbidden: np.ndarray, least: float, most: float) -> np.ndarray:
    """One byte per cell."""
    positive = np.nan_to_num(values, nan=0.0, posinf=0.0) > 0
    size = np.log10(np.where(positive, values, 10.0**least))
    share = np.clip((size - least) / (most - least), 0, 1)
    codes = np.where(forbidden, FORBIDDEN, STILL)
    for where, (first, last) in ((~forbidden, ALLOWED), (forbidden, LEAKING)):
        codes = np.where(positive & where, np.rint(first + share * (last - first)), codes)
    return codes.astype(np.uint8)


def _scale(*, has_leaks: bool) -> list[tuple[float, str]]:
    end = LEAKING[1] if has_leaks else ALLOWED[1]
    blue = [
        ((ALLOWED[0] + share * (ALLOWED[1] - ALLOWED[0])) / end, color)
        for share, color in palette.WEIGHTS
    ]
    scale = [
        (0.0, palette.MASKED),
        (0.5 / end, palette.MASKED),
        (0.5 / end, "rgba(0, 0, 0, 0)"),
        (1.5 / end, "rgba(0, 0, 0, 0)"),
        (1.5 / end, blue[0][1]),
        *blue,
    ]
    if not has_leaks:
        return scale
    middle = (ALLOWED[1] + 0.5) / end
    red = (f"rgba({LEAK}, 0.45)", f"rgba({LEAK}, 1)")
    return [*scale, (middle, blue[-1][1]), (middle, red[0]), (1.0, red[1])]


def _bar(least: float, most: float, unit: str, *, has_leaks: bool, _: Translate) -> dict[str, Any]:
    """Ticks at powers of ten, for the allowed cells and again for the leaks."""
    step = max(1, math.ceil((most - least) / (2 if has_leaks else 4)))
    powers = np.arange(most, least - 0.5, -step)[::-1]
    parts = [(ALLOWED, powers, "")]
    if has_leaks:
        parts = [(ALLOWED, powers[:-1], ""), (LEAKING, powers, " " + _("leak"))]
    ticks = [
        (first + (power - least) / (most - least) * (last - first), f"{10.0**power:g}{what}")
        for (first, last), shown, what in parts
        for power in shown
    ]
    return marks.color_bar(
        unit, tickvals=[at for at, _text in ticks], ticktext=[text for _at, text in ticks]
    )
