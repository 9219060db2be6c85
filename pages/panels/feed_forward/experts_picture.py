"""Where a router sends the tokens, how full the experts are, and what they cost."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from pages.figures.theme import (
    BEFORE,
    FEED_FORWARD,
    PINNED,
    TITLE_AND_LEGEND,
    Picture,
    Translate,
    faint,
    figure,
    legend,
    plain,
    small,
)
from pages.figures.token_axis import label_room, token_ticks
from pages.figures.weights import outline

ROW, BOTTOM, NAMES, ROOMY = 30, 44, 40, 64
TOP = TITLE_AND_LEGEND + 24  # a legend of two lines, where the columns are narrow
# Eight that differ on light and dark, then paler; each expert has its number besides.
COLORS = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#c23b4e", "#b8a000", "#8c5a2b", "#7a5fc0"),
    *("#7fb8d8", "#f2cf80", "#80ceb9", "#e5bcd3", "#e09da6", "#dbcf80", "#c5ac95", "#bcafdf"),
)
PROBABILITY = ((0.0, "rgba(128, 138, 150, 0.03)"), (1.0, "rgba(100, 116, 139, 0.9)"))
DROPPED = "x-thin"


def color_of(expert: int) -> str:
    """The colour of an expert, the same in every picture."""
    return COLORS[expert % len(COLORS)]


def routes(
    probs: np.ndarray,
    chosen: pd.DataFrame,
    tokens: Sequence[str],
    *,
    selected: int,
    pinned: int,
    _: Translate,
) -> Picture:
    """The router's probability of every expert at every token, and who was chosen.

    `probs`: (token, expert); `chosen`: token, expert, rank (from 0), weight, is_kept, hover.
    A click on a mark returns expert and token.
    """
    n_tokens, n_experts = probs.shape
    room = label_room(tokens)
    cells = {
        "type": "heatmap",
        "z": small(probs.T),
        "zmin": 0,
        "zmax": 1,
        "colorscale": [list(stop) for stop in PROBABILITY],
        "hovertemplate": _("expert {expert}: probability {share}").format(
            expert="%{y}", share="%{z:.3f}"
        )
        + "<extra></extra>",
        "xgap": 1 if n_tokens <= ROOMY else 0,
        "ygap": 1,
        "showscale": False,
    }
    marks = [outline(pinned - 0.5, -0.5, 1, n_experts)]
    if selected >= 0:
        marks.append(outline(-0.5, selected - 0.5, n_tokens, 1))
    kept, dropped = chosen[chosen["is_kept"]], chosen[~chosen["is_kept"]]
    return figure(
        [
            cells,
            _chosen(kept, n_tokens, _("shown head: larger = more weight")),
            *_dropped(dropped, _),
        ],
        title=_("Routing: the experts of each token"),
        height=TOP + room + max(150, ROW * n_experts),
        margin=(TOP, room),
        **legend(),
        xaxis={
            **token_ticks(tokens, NAMES),
            "tickangle": -55,
            "range": [-0.5, n_tokens - 0.5],
            "automargin": False,
        },
        yaxis=_expert_axis(n_experts, _),
        shapes=marks,
    )


def _expert_axis(n_experts: int, _: Translate) -> dict[str, Any]:
    return {
        "title": {"text": _("expert")},
        "tickvals": list(range(n_experts)),
        "range": [n_experts - 0.5, -0.5],
        "fixedrange": True,
        "showgrid": False,
        "zeroline": False,
    }


def _chosen(table: pd.DataFrame, n_tokens: int, name: str) -> dict[str, Any]:
    most = 15 if n_tokens <= NAMES else 8
    whole = {"marker": {"opacity": 1}}
    return {
        "type": "scatter" if len(table) < 300 else "scattergl",
        "mode": "markers",
        "x": table["token"].tolist(),
        "y": table["expert"].tolist(),
        "name": name,
        "customdata": [
            [int(expert), int(token)]
            for expert, token in zip(table["expert"], table["token"], strict=True)
        ],
        "hovertext": table["hover"].tolist(),
        "hoverinfo": "text",
        "marker": {
            "size": [4 + (most - 4) * weight for weight in table["weight"]],
            "color": [color_of(expert) for expert in table["expert"]],
            "line": {"width": 1, "color": "#ffffff"},
            "opacity": 1,
        },
        "selected": whole,
        "unselected": whole,
    }


def _dropped(table: pd.DataFrame, _: Translate) -> list[dict[str, Any]]:
    if table.empty:
        return []
    whole = {"marker": {"opacity": 1}}
    return [
        {
            "type": "scatter" if len(table) < 300 else "scattergl",
            "mode": "markers",
            "x": table["token"].tolist(),
            "y": table["expert"].tolist(),
            "name": _("dropped: over capacity"),
            "customdata": table[["expert", "token"]].astype(int).to_numpy().tolist(),
            "hovertext": table["hover"].tolist(),
            "hoverinfo": "text",
            "marker": {
                "size": 11,
                "symbol": DROPPED,
                "color": PINNED,
                "line": {"width": 2.5, "color": PINNED},
            },
            "selected": whole,
            "unselected": whole,
        }
    ]


def load(table: pd.DataFrame, *, even: float, room: int, _: Translate) -> Picture:
    """How many choices fell on each expert: taken, and dropped for want of room.

    `table`: expert, kept, dropped, mean_prob; `even`: an even share; `room`: the most that an
    expert takes (0: no limit).
    """
    n = len(table)
    whole = {"marker": {"opacity": 1}}
    kept = {
        "type": "bar",
        "orientation": "h",
        "x": table["kept"].tolist(),
        "y": list(range(n)),
        "name": _("processed"),
        "marker": {"color": [color_of(expert) for expert in table["expert"]]},
        "showlegend": False,
        "customdata": [[int(expert)] for expert in table["expert"]],
        "hovertemplate": _("expert {expert} takes {n}").format(expert="%{y}", n="%{x:,}")
        + "<extra></extra>",
        "selected": whole,
        "unselected": whole,
    }
    dropped = {
        "type": "bar",
        "orientation": "h",
        "x": [count or None for count in table["dropped"]],
        "y": list(range(n)),
        "name": _("dropped: over capacity"),
        "marker": {
            "color": faint(PINNED, 0.25),
            "line": {"color": PINNED, "width": 1.5},
        },
        "showlegend": bool(table["dropped"].any()),
        "hovertemplate": _("expert {expert} drops {n}").format(expert="%{y}", n="%{x:,}")
        + "<extra></extra>",
    }
    lines = [_level(even, BEFORE, _("even share: {n:.1f}").format(n=even), "dot")]
    if room:
        lines.append(_level(room, PINNED, _("capacity: {n}").format(n=room), "solid"))
    most = max(table[["kept", "dropped"]].sum(axis=1).max(), even, room, 1)
    return figure(
        [kept, dropped, *lines],
        title=_("Load of each expert"),
        height=TOP + BOTTOM + max(150, ROW * n),
        margin=(TOP, BOTTOM),
        barmode="stack",
        **legend(),
        xaxis={
            "title": {"text": _("routed tokens (token × expert)")},
            "range": [0, 1.08 * most],
            "fixedrange": True,
        },
        yaxis=_expert_axis(n, _),
    )


def _level(x: float, color: str, name: str, dash: str) -> dict[str, Any]:
    """An upright line that has its name in the legend."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [x, x],
        "y": [-0.5, 1000],
        "name": name,
        "line": {"color": color, "width": 2, "dash": dash},
        "hoverinfo": "name",
    }


def totals(table: pd.DataFrame, *, _: Translate) -> Picture:
    """Parameters that are there, and those that one token meets.

    `table`: label, total, active; a row each layout.
    """
    n = len(table)
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "y": [plain(label) for label in table["label"]],
            "x": table[column].tolist(),
            "name": name,
            "marker": {"color": color},
            "text": [f"{count:,}" for count in table[column]],
            "textposition": "outside",
            "cliponaxis": False,
            "hovertemplate": "%{x:,}<extra></extra>",
        }
        for column, name, color in (
            ("total", _("total"), faint(FEED_FORWARD, 0.45)),
            ("active", _("active for one token"), FEED_FORWARD),
        )
    ]
    return figure(
        traces,
        title=_("Parameters of the model: total and active"),
        height=TITLE_AND_LEGEND + BOTTOM + 62 * n,
        margin=(TITLE_AND_LEGEND, BOTTOM),
        barmode="group",
        **legend(),
        xaxis={
            "title": {"text": _("parameters")},
            "range": [0, 1.35 * table["total"].max()],
            "fixedrange": True,
        },
        yaxis={"autorange": "reversed", "fixedrange": True},
    )
