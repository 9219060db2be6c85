"""What is said of positions, and whether it is true of each kind."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from pages.figures.theme import (
    ATTENTION,
    BEFORE,
    EDGE,
    FEED_FORWARD,
    NORM,
    TITLE,
    TITLE_AND_LEGEND,
    Picture,
    Translate,
    faint,
    figure,
    legend,
)
from pages.figures.weights import outline

ROW, LEAST_SHOWN = 46, 1e-9
VERDICT_CODES = {"true": 2, "false": 1, "none": 0}
GRID = (
    (0.0, faint(BEFORE, 0.1)),
    (1 / 3, faint(BEFORE, 0.1)),
    (1 / 3, faint(FEED_FORWARD, 0.38)),
    (2 / 3, faint(FEED_FORWARD, 0.38)),
    (2 / 3, faint(NORM, 0.42)),
    (1.0, faint(NORM, 0.42)),
)


def verdicts(
    cells: pd.DataFrame,
    claims: Sequence[str],
    kinds: Sequence[str],
    *,
    shown: int | None,
    _: Translate,
) -> Picture:
    """Claims down, kinds across; a click returns the number of the kind.

    `cells`, row by row: verdict (true, false, none), text (what stands in the cell), hover;
    `shown`: the kind that is looked at, outlined.
    """
    n, width = len(claims), len(kinds)
    codes = [VERDICT_CODES[verdict] for verdict in cells["verdict"]]
    rows = range(0, n * width, width)
    grid = {
        "type": "heatmap",
        "z": [codes[i : i + width] for i in rows],
        "zmin": 0,
        "zmax": 2,
        "colorscale": [list(stop) for stop in GRID],
        "showscale": False,
        "xgap": 3,
        "ygap": 3,
        "text": [list(cells["text"][i : i + width]) for i in rows],
        "texttemplate": "%{text}",
        "textfont": {"size": 12},
        "hoverinfo": "skip",
    }
    unseen = {"marker": {"opacity": 0}}
    marks = {
        "type": "scatter",
        "mode": "markers",
        "x": list(range(width)) * n,
        "y": [row for row in range(n) for _kind in kinds],
        "customdata": [[kind] for _row in range(n) for kind in range(width)],
        "hovertext": list(cells["hover"]),
        "hovertemplate": "%{hovertext}<extra></extra>",
        "marker": {"symbol": "square", "size": 40, "opacity": 0},
        "selected": unseen,
        "unselected": unseen,
    }
    return figure(
        [grid, marks],
        title=_("Claims, measured"),
        height=TITLE + 30 + ROW * n,
        margin=(TITLE + 30, EDGE),
        xaxis={**_names(kinds), "side": "top"},
        yaxis={**_names(claims), "range": [n - 0.5, -0.5]},
        shapes=[] if shown is None else [outline(shown - 0.5, -0.5, 1, n)],
    )


def _names(names: Sequence[str]) -> dict[str, Any]:
    return {
        "tickmode": "array",
        "tickvals": list(range(len(names))),
        "ticktext": list(names),
        "fixedrange": True,
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
    }


def moved(table: pd.DataFrame, *, limit: float, _: Translate) -> Picture:
    """How much permuted tokens change the output: label, free, causal (shares of the largest).

    The dashed line is what rounding may do. What is 0 stands at the foot of the axis.
    """
    bars = [
        {
            "type": "bar",
            "x": table["label"].tolist(),
            "y": table[column].clip(lower=LEAST_SHOWN).tolist(),
            "customdata": [[value] for value in table[column]],
            "name": name,
            "marker": {"color": color},
            "hovertemplate": f"%{{x}}, {name}<br>%{{customdata[0]:.2g}}<extra></extra>",
        }
        for column, name, color in (
            ("free", _("no mask"), ATTENTION),
            ("causal", _("causal mask"), faint(BEFORE, 0.8)),
        )
    ]
    level = {"x0": 0, "x1": 1, "xref": "paper", "y0": limit, "y1": limit}
    return figure(
        bars,
        title=_("Permuted tokens: how much else changes"),
        height=TITLE_AND_LEGEND + 280,
        margin=(TITLE_AND_LEGEND, EDGE),
        barmode="group",
        xaxis={"fixedrange": True},
        yaxis={
            "title": {"text": _("largest change / largest output")},
            "type": "log",
            "exponentformat": "power",
            "dtick": 2,
            "range": [-9, 0.6],
            "fixedrange": True,
        },
        shapes=[{"type": "line", **level, "line": {"color": BEFORE, "width": 1.5, "dash": "dash"}}],
        **legend(),
    )
