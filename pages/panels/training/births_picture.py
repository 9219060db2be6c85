"""How heads come to be: one measure of every head, at each kept step."""

from typing import Any

import pandas as pd

from blocks.inspection.learning import BirthFacts
from blocks.model.faults import N_
from pages.figures import marks, palette
from pages.figures.counting import from_one
from pages.figures.theme import TITLE, Picture, Translate, faint, figure

HEIGHT, BOTTOM = 330, 44
NAMED_ABOVE = 0.5


MEASURES = {
    "linked": N_("Cross-attention weight on the correct tokens"),
    "previous_token": N_("Weight on the previous token"),
    "induction": N_("Weight on the token after an earlier occurrence of the current one"),
    "first_token": N_("Weight on the first token"),
    "same_token": N_("Weight on the token itself"),
}


def heads_over_steps(facts: BirthFacts, *, _: Translate) -> Picture:
    """A line for each head; a click on a point returns its step, layer and head.

    Steps are drawn as 1 + step on a logarithmic scale: early ones are close together.
    """
    heads = facts.heads
    lines = [
        _line(of_head, number == facts.selected, _) for number, of_head in heads.groupby("number")
    ]
    steps = sorted(heads["step"].unique().tolist())
    ticks = steps if len(steps) < 9 else steps[::2]
    return figure(
        sorted(lines, key=lambda line: line["line"]["width"]),
        title=_(MEASURES[facts.measure]),
        height=HEIGHT,
        margin=(TITLE + 8, BOTTOM),
        xaxis={
            "title": _("step (logarithmic)"),
            "type": "log",
            "tickvals": [1 + step for step in ticks],
            "ticktext": [f"{step:,}" for step in ticks],
            "automargin": False,
        },
        yaxis={
            "title": _("share of attention weight"),
            "range": [-0.02, 1.02],
            "tickformat": ".0%",
        },
        shapes=[_now(facts.now), _threshold()],
        annotations=_names(heads),
    )


def _line(of_head: pd.DataFrame, is_selected: bool, _: Translate) -> dict[str, Any]:
    color = palette.PINNED if is_selected else faint(palette.ATTENTION, 0.55)
    return marks.line(
        (1 + of_head["step"]).tolist(),
        of_head["share"].tolist(),
        mode="lines+markers",
        customdata=of_head[["step", "layer", "head"]].to_numpy().tolist(),
        line={"color": color, "width": 3 if is_selected else 1.5},
        marker={"color": color, "size": 8 if is_selected else 6},
        **marks.steady(),
        **marks.told(_hover(row, _) for row in of_head.itertuples()),
    )


def _hover(row: Any, _: Translate) -> str:
    return _("layer {layer}, head {head}, step {step:,}: {share:.0%}").format(
        layer=from_one(row.layer), head=from_one(row.head), step=row.step, share=row.share
    )


def _names(heads: pd.DataFrame) -> list[dict[str, Any]]:
    """Heads that end above the threshold are named at their last point."""
    last = heads[(heads["step"] == heads["step"].max()) & (heads["share"] > NAMED_ABOVE)]
    return [
        {
            "x": 1,
            "xref": "paper",
            "xanchor": "right",
            "y": row.share,
            "yanchor": "bottom",
            "text": f"{from_one(row.layer)}·{from_one(row.head)}",
        }
        for row in last.itertuples()
    ]


def _now(step: int) -> dict[str, Any]:
    return marks.upright(1 + step, line=marks.dashed(dash="solid"))


def _threshold() -> dict[str, Any]:
    return marks.level(NAMED_ABOVE, line=marks.dashed(dash="dot", width=1))
