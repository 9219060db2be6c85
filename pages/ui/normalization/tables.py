"""Exact numbers of the page of normalization."""

import pandas as pd
import streamlit as st

from blocks.model.placements import own_placement, possible_placements
from blocks.observe.run import Run
from pages.ui import terms
from pages.ui.language import _
from pages.ui.normalization import measured, words

MOMENTS = ("mean", "std", "min", "max", "rms")


def dependence(run: Run, layer: int, stage: str) -> None:
    """How far each norm's output moves when only its surroundings change."""
    found = measured.compared(run, layer, stage).dependence
    shown = pd.DataFrame(
        {
            _("norm"): [words.norm_name(name) for name in found["norm"]],
            _("as part of a batch"): found["batch"].map(change),
            _("with padding"): found["padding"].map(change),
            _("in the other mode"): found["mode"].map(change),
        }
    )
    st.dataframe(shown, hide_index=True, key="dependence_table", height="content")


def running(run: Run, layer: int, stage: str) -> None:
    """How the running statistics of BatchNorm approach those of the batch."""
    found = measured.compared(run, layer, stage).running
    shown = pd.DataFrame(
        {
            _("training passes before"): found["updates"],
            _("difference in evaluation mode"): found["change"].map(change),
        }
    )
    st.dataframe(shown, hide_index=True, key="running_table", height="content")


def change(value: float) -> str:
    """A largest change: exactly nothing is told from very little."""
    return "0" if value == 0 else f"{value:.3g}"


def placements(run: Run, layer: int, head: int, shown: tuple[str, ...]) -> None:
    """What leaves the layer in each placement, and how far that is from the reader's own."""
    rows = {name: measured.in_placement(run, name, layer, head).moments for name in shown}
    own = rows.get(own_placement(run.config))
    table = pd.DataFrame({_("norm placement"): [terms.option(name) for name in rows]})
    for moment in MOMENTS:
        label = moment_name(moment)
        table[label] = [number(row[moment]) for row in rows.values()]
        if own is not None:
            table["Δ " + label] = [signed(row[moment] - own[moment]) for row in rows.values()]
    st.dataframe(table, hide_index=True, key="placement_table", height="content")


def moment_name(moment: str) -> str:
    """What a moment is called at the head of a column."""
    return {"mean": _("mean"), "std": _("std"), "min": _("min"), "max": _("max")}.get(moment, "RMS")


def number(value: float) -> str:
    """With four digits, or in words where the number format ended."""
    return f"{value:.4g}" if value - value == 0 else _("not finite")


def signed(value: float) -> str:
    """A difference with its sign; none is 0."""
    if value - value != 0:
        return _("not finite")
    return "0" if value == 0 else f"{value:+.4g}"


def all_placements(run: Run, layer: int, head: int) -> pd.DataFrame:
    """The same numbers to take away."""
    rows = {
        name: measured.in_placement(run, name, layer, head).moments
        for name in possible_placements(run.config)
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("placement").reset_index()
