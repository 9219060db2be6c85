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
        "textfont": {"size": 11},
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
        yaxis={**_names([_in_two_lines(claim) for claim in claims]), "range": [n - 0.5, -0.5]},
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

    The dashed line is `limit`, what rounding may do. What is 0 stands at the foot of the axis.
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
    return figure(
        [*bars, _limit(table, limit, _)],
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
        **legend(),
    )


def _limit(table: pd.DataFrame, limit: float, _: Translate) -> dict[str, Any]:
    """What rounding may do, named in the legend."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": table["label"].tolist(),
        "y": [limit] * len(table),
        "name": _("rounding at most"),
        "line": {"color": BEFORE, "width": 1.5, "dash": "dash"},
        "hoverinfo": "skip",
    }


def _in_two_lines(name: str) -> str:
    """Broken at the space nearest to the middle, so that cells keep room on a small screen."""
    spaces = [i for i, letter in enumerate(name) if letter == " "]
    if not spaces:
        return name
    middle = min(spaces, key=lambda i: abs(i - len(name) / 2))
    return f"{name[:middle]}<br>{name[middle + 1 :]}"
