"""Published models by size: a dot per model, and the reader's own among them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from blocks.cost.published import Published, PublishedFacts
from blocks.model.kinds import Architecture
from pages.figures import marks, palette
from pages.figures.axes import plot_room
from pages.figures.described import SAID
from pages.figures.theme import Picture, Translate, figure, legend, plain

ROW, BOTTOM, LEGEND = 24, 50, 50  # two lines of a legend
COLORS = {
    Architecture.GPT: palette.ATTENTION,
    Architecture.ENCODER: palette.FEED_FORWARD,
    Architecture.ENCODER_DECODER: palette.EMBEDDING,
}
Rows = Mapping[int, Published]


def dots(facts: PublishedFacts, names: Mapping[Architecture, str], *, _: Translate) -> Picture:
    """A row per model, the smallest at the top, coloured by architecture; the own one a diamond.

    What a token meets of a mixture of experts is a hollow dot. A click returns a model's name.
    """
    rows, own_row = _rows(facts)
    models, n_rows = facts.models, len(facts.models) + 1
    middle = math.sqrt(models[0].total * models[-1].total)
    traces = [_own(facts.own, own_row, is_left=facts.own > middle, name=_("yours"))]
    traces += [_named(rows, kind, names[kind], middle, _) for kind in COLORS]
    sparse = {row: each for row, each in rows.items() if each.active < each.total}
    if sparse:
        traces.append(_active(sparse, _("active per token"), _))
    least, most = min(facts.own, *(each.active for each in models)), models[-1].total
    return figure(
        traces,
        title=_("Published models, and yours"),
        **plot_room(ROW * n_rows, BOTTOM, above=LEGEND),
        **legend(),
        xaxis={
            "title": _("parameters (logarithmic)"),
            "type": "log",
            "range": [_power(least) - 0.25, _power(max(most, facts.own)) + 0.85],
            "exponentformat": "B",
            "dtick": 1,
            "tickangle": 0,
        },
        yaxis={"visible": False, "range": [n_rows - 0.3, -0.7]},
    )


def _power(count: int) -> float:
    return math.log10(max(1, count))


def _rows(facts: PublishedFacts) -> tuple[Rows, int]:
    """The models by the row in which each stands, and the row of the own one among them."""
    own_row = sum(each.total <= facts.own for each in facts.models)
    return {row + (row >= own_row): each for row, each in enumerate(facts.models)}, own_row


def _own(own: int, row: int, *, is_left: bool, name: str) -> dict[str, Any]:
    return {
        **_labelled([own], [row], [name], [not is_left]),
        "showlegend": False,
        "marker": {"size": 13, "color": palette.PINNED, "symbol": "diamond"},
        "textfont": {"size": 12, "color": palette.PINNED},
        "hovertemplate": "%{x:,}<extra></extra>",
        "meta": {SAID: [f"{name} {own:,}"]},
    }


def _named(
    rows: Rows, kind: Architecture, name: str, middle: float, _: Translate
) -> dict[str, Any]:
    """Dots with the names of their models at the side where there is room."""
    found = {row: each for row, each in rows.items() if each.config.architecture is kind}
    models = [*found.values()]
    is_right = [each.total < middle or each.active < each.total for each in models]
    counts = [each.total for each in models]
    return {
        **_labelled(counts, [*found], [_(each.title) for each in models], is_right),
        **_clickable(models, counts, name, _),
        "marker": {"size": 11, "color": COLORS[kind]},
        "textfont": {"size": 11},
    }


def _active(rows: Rows, name: str, _: Translate) -> dict[str, Any]:
    counts = [each.active for each in rows.values()]
    return marks.dots(
        counts,
        [*rows],
        **_clickable([*rows.values()], counts, name, _),
        marker={"size": 10, "color": palette.BEFORE, "symbol": "circle-open", "line": {"width": 2}},
    )


def _labelled(
    counts: Sequence[int], rows: Sequence[int], labels: Sequence[str], is_right: Sequence[bool]
) -> dict[str, Any]:
    return marks.line(
        [float(max(1, count)) for count in counts],
        rows,
        mode="markers+text",
        text=[f"  {plain(label)}  " for label in labels],
        textposition=["middle right" if right else "middle left" for right in is_right],
        cliponaxis=False,
    )


def _clickable(
    models: Sequence[Published], counts: Sequence[int], name: str, _: Translate
) -> dict[str, Any]:
    """What dots return, and say under the cursor and to those who cannot see them."""
    titles = [plain(_(each.title)) for each in models]
    listed = "; ".join(f"{title} {n:,}" for title, n in zip(titles, counts, strict=True))
    return {
        "name": plain(name),
        "customdata": [[each.name, title] for each, title in zip(models, titles, strict=True)],
        "hovertemplate": "<b>%{customdata[1]}</b><br>%{x:,}<extra></extra>",
        "meta": {SAID: [f"{plain(name)}: {listed}"]},
    }
