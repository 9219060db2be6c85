"""Loss of a GPT with its mask and of one without: while it learns, and where it must write."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from pages.figures.series import guess_level
from pages.figures.theme import (
    ATTENTION,
    EDGE,
    PINNED,
    TITLE_AND_LEGEND,
    Picture,
    Translate,
    figure,
    legend,
    plain,
)

HEIGHT = 360
COLORS = {"masked": ATTENTION, "peeking": PINNED}


def losses(
    curves: pd.DataFrame,
    writing: pd.DataFrame,
    names: Mapping[str, str],
    *,
    n_updates: int,
    guess: float,
    _: Translate,
) -> Picture:
    """Loss over updates, two curves a model. Both frames: model, update, loss in nats.

    `writing` is measured at some updates only, and drawn dashed with a mark at each. `guess` is
    a dashed level; the axis has room for all `n_updates` from the start.
    """
    solid = {"mode": "lines", "dash": "solid"}
    dashed = {"mode": "lines+markers", "dash": "dot"}
    traces = [
        *_lines(curves, names, _("{model}, training"), solid, _),
        *_lines(writing, names, _("{model}, writing"), dashed, _),
    ]
    level = guess_level(guess, n_updates, label=_("random guess"))
    return figure(
        traces,
        title=_("Loss while it trains, and where it must write"),
        height=HEIGHT,
        margin=(TITLE_AND_LEGEND, EDGE),
        **legend(),
        xaxis={"title": {"text": _("step")}, "range": [0, n_updates], "fixedrange": True},
        yaxis={"title": {"text": _("loss (nats)")}, "range": [0, 1.1 * guess], "fixedrange": True},
        **level,
    )


def _lines(
    table: pd.DataFrame, names: Mapping[str, str], label: str, look: Mapping[str, str], _: Translate
) -> Iterator[dict[str, Any]]:
    for model, found in table.groupby("model", sort=False):
        name = label.format(model=names[str(model)])
        yield {
            "type": "scatter",
            "mode": look["mode"],
            "x": found["update"].tolist(),
            "y": found["loss"].tolist(),
            "name": name,
            "line": {"color": COLORS[str(model)], "width": 2.5, "dash": look["dash"]},
            "marker": {"size": 8},
            "hovertemplate": f"{plain(name)}<br>"
            + _("step {n}: {loss} nats").format(n="%{x}", loss="%{y:.2f}")
            + "<extra></extra>",
        }
