"""Score over what was taken out, a line for each criterion."""

from typing import Any

import pandas as pd

from blocks.efficiency.pruning import Criterion
from blocks.efficiency.pruning_facts import PruningFacts
from blocks.model.faults import N_
from pages.figures import marks, palette
from pages.figures.axes import room_for_legend, score_axis_from_0
from pages.figures.theme import Picture, Translate, figure

PLOT = 290
CRITERION_NAMES = {
    Criterion.MAGNITUDE: N_("smallest first (magnitude)"),
    Criterion.WANDA: N_("smallest contribution first (Wanda)"),
    Criterion.RANDOM: N_("at random (control)"),
}
LOOKS = {
    Criterion.MAGNITUDE: (palette.FEED_FORWARD, "circle"),
    Criterion.WANDA: (palette.ATTENTION, "square"),
    Criterion.RANDOM: (palette.BEFORE, "x"),
}


def lines(facts: PruningFacts, *, _: Translate) -> Picture:
    """The score as more goes, from the original on; a click returns the recipe."""
    column = "score" if facts.is_share else "loss"
    whole = facts.original.score if facts.is_share else facts.original.held_out_loss
    found = {c: facts.rows[facts.rows["criterion"] == c] for c in Criterion}
    traces = [_line(rows, c, column, whole, facts, _) for c, rows in found.items() if len(rows)]
    most = float(facts.rows["removed"].max())
    return figure(
        traces,
        title=_("Quality as more is removed"),
        **room_for_legend(PLOT, len(traces)),
        shapes=[marks.level(whole)],
        xaxis={
            "title": _("share removed"),
            "tickformat": ".0%",
            "range": [-0.02 * most, 1.05 * most],
        },
        yaxis=score_axis_from_0(facts.score_name, facts.is_share, _),
    )


def _line(
    rows: pd.DataFrame,
    criterion: Criterion,
    column: str,
    whole: float,
    facts: PruningFacts,
    _: Translate,
) -> dict[str, Any]:
    color, symbol = LOOKS[criterion]
    text = _("{share:.0%} removed: {value:.3f}, loss {loss:.3f}")
    hovers = [
        text.format(share=row.removed, value=row.score, loss=row.loss) for row in rows.itertuples()
    ]
    spread = rows["standard_error"].tolist() if facts.is_share else [0.0] * len(rows)
    return marks.line(
        [0.0, *rows["removed"]],
        [whole, *rows[column]],
        mode="lines+markers",
        name=_(CRITERION_NAMES[criterion]),
        line={"color": color, "width": 2},
        marker={"color": color, "symbol": symbol, "size": 9},
        error_y={"type": "data", "array": [0.0, *spread], "color": color, "thickness": 1.2},
        customdata=[[""], *([name] for name in rows["variant"])],
        **marks.told([_("original"), *hovers]),
    )
