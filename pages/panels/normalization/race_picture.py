"""Loss curves of placements that are trained side by side."""

from collections.abc import Mapping

import pandas as pd

from pages.figures.series import guess_level, legend_room, placement_line
from pages.figures.theme import EDGE, Picture, Translate, figure, legend, plain

HEIGHT = 360


def losses(
    curves: pd.DataFrame, names: Mapping[str, str], *, n_updates: int, guess: float, _: Translate
) -> Picture:
    """Loss over updates, a curve a placement. `curves`: placement, update, loss in nats.

    `guess` is drawn as a dashed level; the axis has room for all `n_updates` from the start.
    """
    return figure(
        [
            {
                "type": "scatter",
                "mode": "lines",
                "x": found["update"].tolist(),
                "y": found["loss"].tolist(),
                "name": names[str(placement)],
                "line": placement_line(str(placement)),
                "hovertemplate": f"{plain(names[str(placement)])}<br>"
                + _("step {n}: {loss} nats").format(n="%{x}", loss="%{y:.2f}")
                + "<extra></extra>",
            }
            for placement, found in curves.groupby("placement", sort=False)
        ],
        title=_("Training loss of each"),
        height=HEIGHT,
        margin=(legend_room(names), EDGE),
        **legend(),
        xaxis={"title": {"text": _("step")}, "range": [0, n_updates], "fixedrange": True},
        yaxis={
            "title": {"text": _("loss (nats)")},
            "range": [0, 1.25 * guess],
            "fixedrange": True,
        },
        **guess_level(guess, n_updates, label=_("random guess")),
    )
