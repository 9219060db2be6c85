"""Two columns of names, the file's and ours, and a line for each way between them."""

from collections.abc import Sequence
from typing import Any

from blocks.inspection.file_ledger import Group, LedgerFacts
from blocks.weights.ledger import State
from blocks.weights.mxfp4 import EXPONENTS
from blocks.weights.operations import (
    AS_A_ROW,
    BY_GROUPS,
    GATE_ABOVE_UP,
    GATE_BESIDE_UP,
    OF_STATE_BY_KEY_HEADS,
    ONE_AN_EXPERT,
    ONE_BELOW_ANOTHER,
    QUERIES_BESIDE_GATES,
    RATES_BY_KEY_HEADS,
    SAME,
    SIDE_BY_SIDE,
    STACKED_EXPERTS,
    TRANSPOSED,
    TURNED_ABOUT,
    UNPAIRED,
    WITHOUT_ONE,
)
from pages.figures import marks, palette
from pages.figures.described import SAID
from pages.figures.theme import (
    HIDDEN_AXIS,
    TITLE_AND_LEGEND,
    Picture,
    Translate,
    figure,
    legend,
    plain,
)

ROW, LONGEST, MOST = 21, 26, 70
COLORS = {
    SAME.name: palette.RESIDUAL,
    TRANSPOSED.name: palette.ATTENTION,
    SIDE_BY_SIDE.name: palette.FEED_FORWARD,
    BY_GROUPS.name: palette.NORM,
    ONE_BELOW_ANOTHER.name: palette.ATTENTION,
    GATE_ABOVE_UP.name: palette.FEED_FORWARD,
    GATE_BESIDE_UP.name: palette.FEED_FORWARD,
    ONE_AN_EXPERT.name: palette.NORM,
    UNPAIRED.name: palette.EMBEDDING,
    AS_A_ROW.name: palette.CROSS_ATTENTION,
    TURNED_ABOUT.name: palette.MTP,
    QUERIES_BESIDE_GATES.name: palette.ATTENTION,
    OF_STATE_BY_KEY_HEADS.name: palette.ATTENTION,
    RATES_BY_KEY_HEADS.name: palette.ATTENTION,
    STACKED_EXPERTS.name: palette.NORM,
    WITHOUT_ONE.name: palette.EMBEDDING,
    EXPONENTS: palette.CROSS_ATTENTION,
}
LEFT, RIGHT = 0.0, 1.0
WRONG = {"color": palette.PINNED, "width": 2, "dash": "dot"}


def draw_ledger(facts: LedgerFacts, *, _: Translate) -> Picture:
    """The tensors of the file at the left, in their order; our parameters at the right."""
    groups = facts.groups[:MOST]
    ours = list(dict.fromkeys(name for group in groups for name in group.ours))
    n = max(len(groups), len(ours))
    left = {id(group): i * _step(n, len(groups)) for i, group in enumerate(groups)}
    right = {name: i * _step(n, len(ours)) for i, name in enumerate(ours)}
    used = [group for group in groups if group.state is State.USED]
    lines = [
        _lines([group for group in used if group.operation == name], left, right, _)
        for name in dict.fromkeys(group.operation for group in used)
    ]
    if wrong := [group for group in groups if group.ours and group not in used]:
        lines.append(_lines(wrong, left, right, _, is_wrong=True))
    odd = [group for group in groups if not group.ours]
    return figure(
        [*lines, _names(groups, left, _), _our_names(right), *_dots(odd, left, _)],
        title=_("In the file → here; * stands for any number"),
        height=TITLE_AND_LEGEND + ROW * (n + 1),
        margin=(TITLE_AND_LEGEND, 4),
        **legend(),
        xaxis={**HIDDEN_AXIS, "range": [-1.2, 2.2]},
        yaxis={**HIDDEN_AXIS, "range": [n - 0.4, -0.6]},
    )


def _step(n: int, n_here: int) -> float:
    return (n - 1) / (n_here - 1) if n_here > 1 else 1.0


def _lines(
    groups: Sequence[Group],
    left: dict[int, float],
    right: dict[str, float],
    _: Translate,
    *,
    is_wrong: bool = False,
) -> dict[str, Any]:
    """Every way of one operation, in one trace; or those on which nothing went."""
    operation = groups[0].operation
    name = _("missing or unusable") if is_wrong else _(operation)
    line = {"color": COLORS[operation], "width": 2} if not is_wrong else WRONG
    x: list[float | None] = []
    y: list[float | None] = []
    for group in groups:
        for our in group.ours:
            x += [LEFT, RIGHT, None]
            y += [left[id(group)], right[our], None]
    said = [f"{group.theirs} → {', '.join(group.ours)}" for group in groups]
    told = {SAID: [f"{name}: {'; '.join(said)}"]}
    return marks.line(x, y, name=name, line=line, hoverinfo="skip", meta=told)


def _names(groups: Sequence[Group], left: dict[int, float], _: Translate) -> dict[str, Any]:
    return marks.line(
        [LEFT - 0.02] * len(groups),
        [left[id(group)] for group in groups],
        mode="text",
        text=[_short(group.theirs) for group in groups],
        textposition="middle left",
        textfont={"size": 10},
        customdata=[
            [
                plain(group.theirs),
                group.n_tensors,
                f"{group.n_numbers:,}",
                _(group.operation),
                " + ".join(group.kinds),
            ]
            for group in groups
        ],
        hovertemplate=HOVER.format(
            tensors=_("tensors: {n}").format(n="%{customdata[1]}"),
            numbers=_("values: {n}").format(n="%{customdata[2]}"),
        ),
        showlegend=False,
        meta={SAID: []},
    )


def _our_names(right: dict[str, float]) -> dict[str, Any]:
    return marks.line(
        [RIGHT + 0.02] * len(right),
        [*right.values()],
        mode="text",
        text=[_short(name) for name in right],
        textposition="middle right",
        textfont={"size": 10},
        customdata=[[plain(name)] for name in right],
        hovertemplate="%{customdata[0]}<extra></extra>",
        showlegend=False,
        meta={SAID: []},
    )


def _dots(odd: Sequence[Group], left: dict[int, float], _: Translate) -> list[dict[str, Any]]:
    """Tensors of the file that go nowhere."""
    if not odd:
        return []
    dots = marks.dots(
        [LEFT + 0.03] * len(odd),
        [left[id(group)] for group in odd],
        name=_("not used here"),
        marker={"color": palette.PINNED, "size": 8, "symbol": "x"},
        hoverinfo="skip",
        meta={SAID: ["; ".join(group.theirs for group in odd)]},
    )
    return [dots]


def _short(name: str) -> str:
    """What a part is called in its layer, and of which half; of a long one its end."""
    head, star, tail = name.rpartition("*.")
    half = next((half for half in HALVES if f"{half}." in head), "")
    short = f"{HALVES[half]} *.{tail}".strip() if star and half else f"{star}{tail}"
    return plain(short if len(short) <= LONGEST else "…" + short[1 - LONGEST :])


HALVES = {"encoder": "enc", "decoder": "dec"}
HOVER = (
    "%{{customdata[0]}} (%{{customdata[4]}})<br>{tensors}<br>{numbers}<br>"
    "%{{customdata[3]}}<extra></extra>"
)
