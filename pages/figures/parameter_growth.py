"""Where the size goes as a model grows: shares of its parts, stacked to 100 %."""

from collections.abc import Mapping

import pandas as pd

from pages.figures.size_axis import half_of_last, log_sizes
from pages.figures.theme import (
    ATTENTION,
    EMBEDDING,
    FEED_FORWARD,
    NORM,
    PINNED,
    TITLE_AND_LEGEND,
    Picture,
    Translate,
    faint,
    figure,
    legend,
    plain,
)

TALL, BOTTOM, SECOND_LINE = 270, 46, 22
MOST_TICKS = 7
COLORS = {
    "embeddings": EMBEDDING,
    "attention": ATTENTION,
    "feed_forward": FEED_FORWARD,
    "rest": NORM,
}


def shares(
    table: pd.DataFrame,
    names: Mapping[str, str],
    *,
    size: str,
    own: int,
    title: str,
    _: Translate,
) -> Picture:
    """Areas of each share against a size, on a logarithmic axis; the reader's own is marked.

    `table`: a column named `size`, total, and a column for each of `names`.
    """
    x = [int(value) for value in table[size]]
    said = [f"{total:,.0f}" for total in table["total"]]
    areas = [
        {
            "type": "scatter",
            "mode": "lines",
            "stackgroup": "all",
            "x": x,
            "y": table[name].tolist(),
            "name": plain(label),
            "line": {"color": COLORS[name], "width": 1},
            "fillcolor": faint(COLORS[name], 0.62),
            "customdata": [[text] for text in said],
            "hovertemplate": f"{plain(label)}: %{{y:.1%}}<br>{size} = %{{x:,}}: "
            + _("{n} parameters").format(n="%{customdata[0]}")
            + "<extra></extra>",
        }
        for name, label in names.items()
    ]
    line = {"color": PINNED, "width": 2, "dash": "dash"}
    across = _("{size} (logarithmic; yours: {own})").format(size=size, own=own)
    return figure(
        areas,
        title=title,
        height=TITLE_AND_LEGEND + SECOND_LINE + TALL + BOTTOM,
        margin=(TITLE_AND_LEGEND + SECOND_LINE, BOTTOM),
        right=half_of_last(x),
        **legend(),
        xaxis={**log_sizes(across, _some(x, own)), "tickangle": 0},
        yaxis={
            "title": {"text": _("share of all parameters")},
            "range": [0, 1],
            "tickformat": ".0%",
            "fixedrange": True,
        },
        shapes=[{"type": "line", "x0": own, "x1": own, "y0": 0, "y1": 1, "line": line}],
    )


def _some(sizes: list[int], own: int) -> list[int]:
    """Few enough to be read, the reader's own among them."""
    step = max(1, -(-len(sizes) // MOST_TICKS))
    place = sizes.index(own) if own in sizes else 0
    return sizes[place % step :: step]
