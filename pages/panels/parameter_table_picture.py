"""Where the parameters are."""

from collections.abc import Sequence

from blocks.cost.breakdown import CountFacts
from pages.figures import marks, palette
from pages.figures.theme import Picture, Translate, figure, plain

ROW = 34


def part_bars(facts: CountFacts, labels: Sequence[str], *, _: Translate) -> Picture:
    """One bar per part with its count and share; even the smallest is seen."""
    parts = facts.parts
    bars = marks.lying(
        [float(part.count) for part in parts],
        [plain(label) for label in labels],
        **marks.written(f"{part.count:,} · {facts.share(part.count):.1%}" for part in parts),
        marker={"color": [palette.KIND_COLORS[part.kind] for part in parts]},
        customdata=[[part.formula] for part in parts],
        hovertemplate="<b>%{y}</b><br>%{customdata[0]} = %{x:,}<extra></extra>",
    )
    return figure(
        [bars],
        title=_("Parameters by part"),
        height=90 + ROW * len(parts),
        xaxis={
            "title": _("parameters"),
            "range": [0, 1.5 * max((float(part.count) for part in parts), default=1.0)],
        },
        yaxis={"autorange": "reversed"},
    )
