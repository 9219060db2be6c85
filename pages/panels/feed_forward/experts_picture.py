"""Where a router sends the tokens, how full the experts are, and what they cost."""

from typing import Any

import numpy as np
import pandas as pd

from blocks.inspection.routing import Layout, LayoutFacts, RoutingFacts
from pages.figures import marks, palette
from pages.figures.axes import room_under_legend, row_names
from pages.figures.counting import from_one
from pages.figures.table_rows import each_row
from pages.figures.theme import (
    TITLE_AND_LEGEND,
    Picture,
    Translate,
    faint,
    figure,
    legend,
    plain,
    small,
)
from pages.figures.token_axis import label_room, slanted
from pages.figures.weights import outline

ROW, BOTTOM, NAMES, ROOMY = 30, 44, 24, 64
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


def routes(facts: RoutingFacts, *, _: Translate) -> Picture:
    """The router's probability of every expert at every token, and who was chosen.

    A click on a mark returns expert and token.
    """
    n_tokens, n_experts = facts.probs.shape
    room, chosen = label_room(facts.labels), facts.choices.assign(hover=_hovers(facts, _))
    outlines = [outline(facts.token - 0.5, -0.5, 1, n_experts)]
    if facts.expert is not None:
        outlines.append(outline(-0.5, facts.expert - 0.5, n_tokens, 1))
    kept, dropped = chosen[chosen["is_kept"]], chosen[~chosen["is_kept"]]
    return figure(
        [
            _probabilities(facts, _),
            _chosen(kept, n_tokens, _("chosen: larger = more weight")),
            *_dropped(dropped, _),
        ],
        title=_("Routing: the experts of each token"),
        height=TOP + room + max(150, ROW * n_experts),
        margin=(TOP, room),
        **legend(),
        xaxis=slanted(facts.labels, NAMES, range=[-0.5, n_tokens - 0.5]),
        yaxis=_expert_axis(n_experts, _),
        shapes=outlines,
    )


def _probabilities(facts: RoutingFacts, _: Translate) -> dict[str, Any]:
    n_tokens, n_experts = facts.probs.shape
    said = _("expert {expert}: router score {share}")
    return {
        "type": "heatmap",
        "z": small(facts.probs.T),
        "customdata": _numbers(n_experts, n_tokens),
        "zmin": 0,
        "zmax": 1,
        "colorscale": [list(stop) for stop in PROBABILITY],
        "hovertemplate": said.format(expert="%{customdata}", share="%{z:.3f}") + "<extra></extra>",
        "xgap": 1 if n_tokens <= ROOMY else 0,
        "ygap": 1,
        "showscale": False,
    }


def _hovers(facts: RoutingFacts, _: Translate) -> list[str]:
    text = _(
        "{number} · {token} → expert {expert}: choice {rank}, router score {share:.3f}, {fate}"
    )
    taken, dropped = _("weight {weight:.2f}"), _("dropped: over capacity")
    return [
        text.format(
            number=from_one(row.token),
            token=plain(facts.labels[row.token]),
            expert=from_one(row.expert),
            rank=from_one(row.rank),
            share=row.share,
            fate=taken.format(weight=row.weight) if row.is_kept else dropped,
        )
        for row in each_row(facts.choices)
    ]


def _numbers(n_experts: int, n_tokens: int) -> np.ndarray:
    """The number of the expert under each cell."""
    numbers = np.array([from_one(expert) for expert in range(n_experts)], dtype=np.uint16)
    return np.repeat(numbers[:, None], n_tokens, axis=1)


def _expert_axis(n_experts: int, _: Translate) -> dict[str, Any]:
    return row_names(
        [str(from_one(expert)) for expert in range(n_experts)],
        title=_("expert"),
        showgrid=False,
        zeroline=False,
    )


def _chosen(table: pd.DataFrame, n_tokens: int, name: str) -> dict[str, Any]:
    most = 15 if n_tokens <= NAMES else 8
    return marks.dots(
        table["token"].tolist(),
        table["expert"].tolist(),
        type=marks.points_of(len(table)),
        name=name,
        customdata=[
            [int(expert), int(token)]
            for expert, token in zip(table["expert"], table["token"], strict=True)
        ],
        **marks.told(table["hover"]),
        marker={
            "size": [4 + (most - 4) * weight for weight in table["weight"]],
            "color": [color_of(expert) for expert in table["expert"]],
            "line": {"width": 1, "color": "#ffffff"},
            "opacity": 1,
        },
        **marks.steady(),
    )


def _dropped(table: pd.DataFrame, _: Translate) -> list[dict[str, Any]]:
    if table.empty:
        return []
    return [
        marks.dots(
            table["token"].tolist(),
            table["expert"].tolist(),
            type=marks.points_of(len(table)),
            name=_("dropped: over capacity"),
            customdata=table[["expert", "token"]].astype(int).to_numpy().tolist(),
            **marks.told(table["hover"]),
            marker={
                "size": 11,
                "symbol": DROPPED,
                "color": palette.PINNED,
                "line": {"width": 2.5, "color": palette.PINNED},
            },
            **marks.steady(),
        )
    ]


def load(facts: RoutingFacts, *, _: Translate) -> Picture:
    """How many choices fell on each expert: taken, and dropped for want of room."""
    table, even, room = facts.load, facts.even_share, facts.room
    n = len(table)
    lines = [_level(even, palette.BEFORE, _("equal share: {n:.1f}").format(n=even), "dot")]
    if room:
        lines.append(_level(room, palette.PINNED, _("capacity: {n}").format(n=room), "solid"))
    most = max(table[["kept", "dropped"]].sum(axis=1).max(), even, room, 1)
    return figure(
        [*_choices(table, _), *lines],
        title=_("Load of each expert"),
        height=TOP + BOTTOM + max(150, ROW * n),
        margin=(TOP, BOTTOM),
        barmode="stack",
        **legend(),
        xaxis={"title": _("token–expert assignments"), "range": [0, 1.08 * most]},
        yaxis=_expert_axis(n, _),
    )


def _choices(table: pd.DataFrame, _: Translate) -> list[dict[str, Any]]:
    """Bars of what each expert takes, and after them of what it drops."""
    under = {"expert": "%{customdata[1]}", "n": "%{x:,}"}
    lying = {
        "type": "bar",
        "orientation": "h",
        "y": list(range(len(table))),
        "customdata": [[int(expert), from_one(expert)] for expert in table["expert"]],
    }
    kept = {
        **lying,
        "x": table["kept"].tolist(),
        "name": _("processed"),
        "marker": {"color": [color_of(expert) for expert in table["expert"]]},
        "showlegend": False,
        "hovertemplate": _("expert {expert}: {n} processed").format(**under) + "<extra></extra>",
        **marks.steady(),
    }
    dropped = {
        **lying,
        "x": [count or None for count in table["dropped"]],
        "name": _("dropped: over capacity"),
        "marker": {
            "color": faint(palette.PINNED, 0.25),
            "line": {"color": palette.PINNED, "width": 1.5},
        },
        "showlegend": bool(table["dropped"].any()),
        "hovertemplate": _("expert {expert}: {n} dropped").format(**under) + "<extra></extra>",
    }
    return [kept, dropped]


def _level(x: float, color: str, name: str, dash: str) -> dict[str, Any]:
    """An upright line that has its name in the legend."""
    return marks.line(
        [x, x],
        [-0.5, 1000],
        name=name,
        line={"color": color, "width": 2, "dash": dash},
        hoverinfo="name",
    )


def layout_name(layout: Layout, _: Translate) -> str:
    """What one of the compared layouts is called."""
    if layout.n_experts == 1:
        return _("dense, d_ff {d_ff:,}").format(d_ff=layout.d_ff)
    if layout.n_shared:
        text = _("{n} experts, {k} active, {shared} shared")
        return text.format(n=layout.n_experts, k=layout.n_active, shared=layout.n_shared)
    return _("{n} experts, {k} active").format(n=layout.n_experts, k=layout.n_active)


def totals(facts: LayoutFacts, *, _: Translate) -> Picture:
    """Parameters that are there, and those that one token meets."""
    layouts = facts.layouts
    kinds = (
        ([each.total for each in layouts], _("total"), faint(palette.FEED_FORWARD, 0.45)),
        ([each.active for each in layouts], _("active per token"), palette.FEED_FORWARD),
    )
    traces = [
        marks.lying(
            counts,
            [layout_name(each, _) for each in layouts],
            name=name,
            marker={"color": color},
            **marks.written(f"{count:,}" for count in counts),
            hovertemplate="%{x:,}<extra></extra>",
        )
        for counts, name, color in kinds
    ]
    return figure(
        traces,
        title=_("Parameters of the model: total and active"),
        **room_under_legend(62 * len(layouts), BOTTOM),
        barmode="group",
        xaxis={"title": _("parameters"), "range": [0, 1.35 * max(each.total for each in layouts)]},
        yaxis={"autorange": "reversed"},
    )
