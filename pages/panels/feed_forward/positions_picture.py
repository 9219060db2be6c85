"""How far a change of one token reaches: through the feed-forward layer, through attention."""

from collections.abc import Sequence
from typing import Any

from blocks.inspection.permuted import ReachFacts
from pages.figures import marks, palette
from pages.figures.axes import plot_room
from pages.figures.theme import Picture, Translate, figure, token_label
from pages.figures.token_axis import columns, label_room, slanted
from pages.figures.weights import behind

TALL, NAMES, ARROW = 290, 24, 18
ROWS = {"feed_forward": [0.56, 1.0], "attention": [0.0, 0.44]}


def reach(facts: ReachFacts, *, _: Translate) -> Picture:
    """Change of each token's output where the input of one token was changed."""
    tokens, moved, changed = facts.labels, facts.moved, facts.changed
    room, n = label_room(tokens), len(tokens)
    most = {part: max(1e-3, 1.08 * float(moved[part].max())) for part in ROWS}
    names = {"feed_forward": _("feed-forward"), "attention": _("attention")}
    traces = []
    for part, axis, color in (
        ("feed_forward", "y", palette.FEED_FORWARD),
        ("attention", "y2", palette.ATTENTION),
    ):
        bars = marks.bars(range(n), moved[part].tolist(), yaxis=axis)
        traces.append({**bars, "marker": {"color": color}, "hoverinfo": "skip"})
        hovers = [_hover(i, tokens, moved[part][i], names[part]) for i in range(n)]
        traces.append({**columns(hovers, list(range(n)), most[part]), "yaxis": axis})
    return figure(
        traces,
        title=_("Outputs that change when {token} changes").format(
            token=token_label(tokens[changed])
        ),
        **plot_room(TALL, room, above=ARROW),
        barmode="overlay",
        bargap=0.1,
        xaxis=slanted(tokens, NAMES, range=[-0.6, n - 0.4], anchor="y2"),
        yaxis=_axis("feed_forward", names, most),
        yaxis2=_axis("attention", names, most),
        shapes=[behind(facts.pinned)],
        annotations=[_arrow(changed, _)],
    )


def _arrow(changed: int, _: Translate) -> dict[str, Any]:
    """Where the change was made."""
    place = {"x": changed, "y": 1, "yref": "paper", "yanchor": "bottom", "xanchor": "left"}
    return {**place, "text": "▼ " + _("changed"), "xshift": -6}


def _axis(part: str, names: dict[str, str], most: dict[str, float]) -> dict[str, Any]:
    return {
        "domain": ROWS[part],
        "title": names[part],
        "tickformat": ".0%",
        "range": [0, most[part]],
        "nticks": 4,
        "anchor": "x",
    }


def _hover(i: int, tokens: Sequence[str], moved: float, part: str) -> str:
    return f"{i + 1} · {token_label(tokens[i])} · {part}: {moved:.1%}"
