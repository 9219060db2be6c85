"""Where a router sends the tokens."""

from typing import Any

import numpy as np
import pandas as pd

from blocks.inspection.routing import RoutingFacts
from pages.figures import marks, palette
from pages.figures.axes import room_under_legend, row_names
from pages.figures.counting import from_one
from pages.figures.table_rows import each_row
from pages.figures.theme import Picture, Translate, figure, plain, small
from pages.figures.token_axis import label_room, slanted
from pages.figures.weights import outline

ROW, NAMES, ROOMY = 30, 24, 64
# Eight that differ on light and dark, then paler; each expert has its number besides.
COLORS = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#c23b4e", "#b8a000", "#8c5a2b", "#7a5fc0"),
    *("#7fb8d8", "#f2cf80", "#80ceb9", "#e5bcd3", "#e09da6", "#dbcf80", "#c5ac95", "#bcafdf"),
)
PROBABILITY = ((0.0, "rgba(128, 138, 150, 0.03)"), (1.0, "rgba(100, 116, 139, 0.9)"))
DROPPED = "x-thin"


def color_of(expert: int) -> str:
    return COLORS[expert % len(COLORS)]


def height_of(n_experts: int) -> int:
    """Pixels of the rows of so many experts."""
    return max(150, ROW * n_experts)


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
        **room_under_legend(height_of(n_experts), room, above=24),  # two lines of it on a phone
        xaxis=slanted(facts.labels, NAMES, range=[-0.5, n_tokens - 0.5]),
        yaxis=row_names(
            [str(from_one(expert)) for expert in range(n_experts)],
            title=_("expert"),
            showgrid=False,
            zeroline=False,
        ),
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
    numbers = np.array([from_one(expert) for expert in range(n_experts)], dtype=np.uint16)
    return np.repeat(numbers[:, None], n_tokens, axis=1)


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
