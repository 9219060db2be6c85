"""Words for heads that learn: what is measured, and which head does it most."""

from typing import Any

import pandas as pd

from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.ui import layers, terms
from pages.ui.language import _
from pages.ui.numbers import percent

MEASURES = {
    "linked": N_("Weight of cross-attention on the right tokens"),
    "previous_token": N_("Weight on the token before"),
    "induction": N_("Weight on what followed an earlier copy of the token"),
    "first_token": N_("Weight on the first token"),
    "same_token": N_("Weight on the token itself"),
}
MOST_LISTED = 6


def measure_title(name: str) -> str:
    """What a measure is of."""
    return _(MEASURES[name])


def tiles_alt(run: Run, *_marked: int) -> str:
    """All heads in words."""
    listed = "; ".join(layers.labelled_tiles(run)["hover"])
    return _("Attention weights of all heads of all layers: {listed}.").format(listed=listed)


def habits_sentence(run: Run) -> str:
    """Which heads put more than half of their weight on one kind of place."""
    found = layers.heads(run)
    named = found[found["name"] != ""]
    if named.empty:
        return _(
            "No head has a clear role: none puts more than half of its weight on one kind "
            "of position."
        )
    listed = "; ".join(_habit(row) for row in named.head(MOST_LISTED).itertuples())
    rest = len(named) - MOST_LISTED
    more = " " + _("And {n} more.").format(n=rest) if rest > 0 else ""
    text = _("Heads with a clear role (more than half of their weight): {listed}.")
    return text.format(listed=listed) + more


def _habit(row: Any) -> str:
    text = _("layer {layer}, head {head}: {name} {share:.0%}")
    name, share = terms.head_name(row.name), getattr(row, row.name)
    return text.format(layer=row.layer + 1, head=row.head, name=name, share=share)


def births_sentence(heads: pd.DataFrame, measure: str) -> str:
    """Which head has most of a measure at the end, and how it was at the start."""
    last = heads[heads["step"] == heads["step"].max()]
    top = last.loc[last["share"].idxmax()]
    first = heads[(heads["number"] == top["number"]) & (heads["step"] == heads["step"].min())]
    text = _(
        "{measure}: most in layer {layer}, head {head}, from {start} at step {first:,} to {share} "
        "at step {step:,}. Click a point to see that head at that step."
    )
    return text.format(
        measure=measure_title(measure),
        layer=int(top["layer"]) + 1,
        head=int(top["head"]),
        start=percent(float(first["share"].iloc[0])),
        first=int(first["step"].iloc[0]),
        share=percent(float(top["share"])),
        step=int(top["step"]),
    )
