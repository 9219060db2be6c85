"""Colours and dashes of the curves that compare norms and placements: always the same one."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from pages.figures import palette
from pages.figures.chart import Axis, Chart, Level, Look, Series
from pages.figures.theme import Translate

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
    "pre": "",
    "post": "dash",
    "sandwich": "dot",
    "res_post": "longdashdot",
    "parallel": "dashdot",
    "none": "longdash",
    "trained": "",
    "apart": "dot",
    "random": "dash",
}


def placement_look(placement: object, name: str, **more: Any) -> Look:
    """How the curve of a placement is drawn, told apart without colour too."""
    called = str(placement)
    return Look(name, PLACEMENT_COLORS[called], dash=DASHES[called], **more)


def training_losses(
    title: str, series: Sequence[Series], *, n_updates: int, guess: float, tall: int, _: Translate
) -> Chart:
    """Losses of several models over their updates, with room for all `n_updates` from the start.

    `guess`, the loss of guessing at random, is a dashed level. A loss that begins higher is seen
    whole; what diverges leaves the picture.
    """
    losses = pd.concat([pd.DataFrame(each.rows)["loss"] for each in series])
    highest = losses[np.isfinite(losses)].max()
    top = float(np.clip(np.nan_to_num(1.05 * highest), LEAST_GUESSES * guess, MOST_GUESSES * guess))
    return Chart(
        title,
        {},
        Axis(_("step"), (0, n_updates), of="update"),
        Axis(_("loss (nats)"), (0, top)),
        series,
        hover=_("step {n}: {loss} nats").format(n="{x}", loss="{y:.2f}"),
        tall=tall,
        levels=[Level(guess, name=_("random guess"), is_named_right=True)],
    )
