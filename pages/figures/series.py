"""Colours and dashes of the curves that compare norms and placements: always the same one."""

from collections.abc import Sequence, Sized
from typing import Any

import numpy as np

from pages.figures import marks, palette
from pages.figures.theme import EDGE, TITLE_AND_LEGEND, Picture, Translate, figure, legend, plain

SHORT_LEGEND = 3
LEAST_GUESSES, MOST_GUESSES = 1.25, 3.0  # how high an axis of losses may end, in guesses
NORM_LINES: dict[str, dict[str, Any]] = {
    "input": {"color": palette.BEFORE, "width": 1.5},
    "layernorm": {"color": palette.NORM, "width": 3.5},
    "rmsnorm": {"color": palette.LEARNED, "width": 2, "dash": "dash"},
    "batchnorm_training": {"color": palette.HELD_OUT, "width": 2.5},
    "batchnorm_evaluation": {"color": palette.HELD_OUT, "width": 1.5, "dash": "dot"},
}
PLACEMENT_COLORS = {
    "pre": palette.LEARNED,
    "post": palette.HELD_OUT,
    "sandwich": palette.NORM,
    "res_post": palette.EMBEDDING,
    "parallel": "#b07f10",
    "none": palette.RESIDUAL,
    "trained": palette.NORM,
    "apart": palette.PINNED,
    "random": palette.BEFORE,
}
DASHES = {
    "pre": "solid",
    "post": "dash",
    "sandwich": "dot",
    "res_post": "longdashdot",
    "parallel": "dashdot",
    "none": "longdash",
    "trained": "solid",
    "apart": "dot",
    "random": "dash",
}


def placement_line(placement: str) -> dict[str, Any]:
    """How the curve of a placement is drawn, told apart without colour too."""
    return {"color": PLACEMENT_COLORS[placement], "width": 2.5, "dash": DASHES[placement]}


def training_losses(
    traces: Sequence[dict[str, Any]],
    *,
    title: str,
    n_updates: int,
    guess: float,
    room: int = TITLE_AND_LEGEND,
    height: int = 360,
    _: Translate,
) -> Picture:
    """Losses of several models over their updates, with room for all `n_updates` from the start.

    `guess`, the loss of guessing at random, is a dashed level. A loss that begins higher is seen
    whole; what diverges leaves the picture.
    """
    loss_axis = {"title": _("loss (nats)"), "range": [0, _top(traces, guess)]}
    return figure(
        traces,
        title=title,
        height=height,
        margin=(room, EDGE),
        **legend(),
        xaxis={"title": _("step"), "range": [0, n_updates]},
        yaxis={**loss_axis},
        **guess_level(guess, n_updates, label=_("random guess")),
    )


def _top(traces: Sequence[dict[str, Any]], guess: float) -> float:
    """Where the axis of losses ends."""
    losses = (np.asarray(each["y"], float) for each in traces)
    highest = max((y.max(initial=0.0, where=np.isfinite(y)) for y in losses), default=0.0)
    return float(np.clip(1.05 * highest, LEAST_GUESSES * guess, MOST_GUESSES * guess))


def step_hover(name: str, _: Translate) -> str:
    """The words under the cursor on one of these curves."""
    said = _("step {n}: {loss} nats").format(n="%{x}", loss="%{y:.2f}")
    return f"{plain(name)}<br>{said}<extra></extra>"


def guess_level(guess: float, last: float, *, label: str) -> dict[str, Any]:
    """The loss of random guessing as a dashed level up to `last`, for the layout."""
    return {
        "shapes": [marks.level(guess, xref="x", x1=last)],
        "annotations": [marks.level_name(guess, plain(label), x=last, xref="x", xanchor="right")],
    }


def legend_room(names: Sized) -> int:
    """Pixels above a picture with this many curves, whose names may need a second line."""
    return TITLE_AND_LEGEND + (20 if len(names) > SHORT_LEGEND else 0)
