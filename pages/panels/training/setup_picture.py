"""The learning rate from the first step to the last, drawn before it runs."""

import math
from typing import Any

import pandas as pd

from pages.figures.curves import BOTTOM, LOW, Steps, step_axis
from pages.figures.theme import (
    LEARNED,
    MASKED,
    PINNED,
    TITLE_AND_LEGEND,
    Picture,
    Translate,
    figure,
    legend,
)

DASHES = ("solid", "dash")


def rates(
    curves: dict[str, pd.DataFrame], steps: Steps, *, warmup: int, now: int | None, _: Translate
) -> Picture:
    """The planned rates by name (step, learning_rate), the warm-up shaded, and the step of now."""
    lines = [
        _line(name, table, dash, _)
        for (name, table), dash in zip(curves.items(), DASHES, strict=False)
    ]
    marks = [_warmup(steps, min(warmup, steps.most))] if warmup else []
    return figure(
        lines,
        title=_("Learning rate"),
        height=LOW + TITLE_AND_LEGEND,
        margin=(TITLE_AND_LEGEND, BOTTOM),
        xaxis=step_axis(steps, _),
        yaxis={"fixedrange": True, "rangemode": "tozero", "exponentformat": "power"},
        shapes=[*marks, *([_now(now)] if now else [])],
        annotations=[_warmup_name(steps, min(warmup, steps.most), _)] if warmup else [],
        **(legend() if len(lines) > 1 else {}),
    )


def _line(name: str, table: pd.DataFrame, dash: str, _: Translate) -> dict[str, Any]:
    step = _("step {n}").format(n="%{x:,}")
    return {
        "type": "scatter",
        "mode": "lines" if len(table) > 1 else "markers",
        "x": table["step"].tolist(),
        "y": table["learning_rate"].tolist(),
        "name": name,
        "line": {"color": LEARNED, "width": 2.5, "dash": dash},
        "marker": {"color": LEARNED},
        "hovertemplate": f"{name}<br>{step}: %{{y:.3g}}<extra></extra>",
    }


def _warmup(steps: Steps, n_steps: int) -> dict[str, Any]:
    start = 0.5 if steps.is_log else 0
    place = {"x0": start, "x1": n_steps, "y0": 0, "y1": 1, "yref": "paper"}
    return {"type": "rect", **place, "fillcolor": MASKED, "line": {"width": 0}, "layer": "below"}


def _warmup_name(steps: Steps, n_steps: int, _: Translate) -> dict[str, Any]:
    """Beside the shade where there is room, at the foot, below every line."""
    is_wide = n_steps > 0.5 * steps.most
    place = {"x": math.log10(n_steps) if steps.is_log else n_steps, "y": 0, "yref": "paper"}
    side = {"xanchor": "right" if is_wide or steps.is_log else "left", "yanchor": "bottom"}
    return {**place, **side, "text": _("warm-up"), "showarrow": False}


def _now(step: int) -> dict[str, Any]:
    place = {"x0": step, "x1": step, "y0": 0, "y1": 1, "yref": "paper"}
    return {"type": "line", **place, "line": {"color": PINNED, "width": 2}}
