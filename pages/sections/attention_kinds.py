"""Other ways to attend on the same queries, keys and values, and what they cost here."""

import streamlit as st

from blocks.cost.attention_time import Measured
from blocks.model import attention_kinds
from blocks.model.attention_kinds import AttentionKind, Reach
from blocks.observe.run import Run
from pages.figures import attention_growth, heads
from pages.ui import labelled, link
from pages.ui.attention_kinds import controls, measured, tables, words
from pages.ui.chart import columns, show
from pages.ui.controls import switch
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.said import say
from pages.ui.steps import in_steps


@section
def how_else(run: Run, layer: int, head: int) -> None:
    """One head in every way to attend, and how time and memory grow."""
    code = (attention_kinds.window, attention_kinds.strided, attention_kinds.linear)
    reach, token = controls.reach(run), labelled.pinned_token(run)
    with explained(("attention_kinds",), code, key="kinds"):
        say(words.error_sentence, run, layer, head, reach)
    shown = run, layer, head, reach
    left, right = columns([7, 4])
    with left:
        show(draw_maps, *shown, token, key="kind_maps", alt=words.maps_alt)
        if said := words.alibi_note(run):
            note(said)
    with right:
        controls.reach_controls(run)
    tables.errors(*shown)
    switch("measure_kinds", _("Measure here how time and memory grow with n"))
    if link.value("measure_kinds"):
        how_they_grow(run)


def how_they_grow(run: Run) -> None:
    """Each way at each length, on this device."""
    controls.length_control()
    steps = measured.steps(run, controls.lengths())
    if not steps:
        note(_("Not measured: heads this wide need more memory than one run is allowed."))
        return
    done = in_steps(steps, what=(run, controls.lengths()), key="growth", is_asked=True)
    found = tuple(done.found)
    if len(found) < len(AttentionKind):
        return
    st.info(words.growth_sentence(found), icon=":material/lightbulb:")
    left, right = st.columns(2)
    with left:
        show(draw_growth, found, "milliseconds", key="growth_time", alt=words.growth_alt)
    with right:
        show(draw_growth, found, "peak_bytes", key="growth_memory", alt=words.growth_alt)
    note(words.measured_note(run))
    tables.growth(found)


def draw_maps(run: Run, layer: int, head: int, reach: Reach, token: int):
    """One head's map in each way."""
    return heads.overview(
        measured.maps(run, layer, head, reach),
        words.tiles_of(run, layer, head, reach),
        columns=len(AttentionKind),
        selected=None,
        pinned=labelled.row_share(run, token),
        title=_("The same queries and keys, five attention variants"),
        _=_,
    )


def draw_growth(found: tuple[Measured, ...], of: str):
    """Time or memory against the length."""
    is_time = of == "milliseconds"
    return attention_growth.growth(
        measured.costs(found, of),
        words.names(),
        measured.exponents(found, of),
        title=_("Time of one pass") if is_time else _("Peak memory"),
        unit="ms" if is_time else "MiB",
        _=_,
    )
