"""How time and memory grow here: one size of a layer, number formats, ways to attend."""

import streamlit as st

from blocks.cost import pass_time, sweep, timing
from blocks.observe.run import Run
from pages.figures import sweep as pictures
from pages.sections.attention_kinds import how_they_grow
from pages.ui import link
from pages.ui.chart import show
from pages.ui.controls import switch
from pages.ui.cost import measured_controls, sweep_controls, sweeps
from pages.ui.cost import sweep_words as words
from pages.ui.cost.sweeps import Point, Sweep
from pages.ui.explain import explained, note
from pages.ui.export import download
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.steps import in_steps

CODE = (sweep.swept, pass_time.measure_layer, timing.measure_times)
Found = tuple[tuple[str, Point], ...]


@section
def how_it_grows(run: Run) -> None:
    """One size doubles, and one layer is measured at each."""
    with explained(("roofline",), CODE, key="sweeps"):
        sweep_controls.sweep_controls(run)
    name = "measure_sweep"
    text = _("Measure one layer")
    if not measured_controls.measure_button(name, text, again=_("Measure again")):
        return
    wanted = (sweep_controls.chosen_sweep(run),)
    found = measured_lines(wanted, "sweep_steps")
    if not words.is_measured(found):
        return
    st.info(words.slope_sentence(wanted[0], found), icon=":material/trending_up:")
    both_pictures(wanted, found, "sweep")
    note(words.sweep_note(wanted[0]))


@section
def which_format_pays(run: Run) -> None:
    """The same layer in each number format, as n doubles."""
    name = "measure_dtypes"
    text = _("Measure float32, bfloat16 and float16")
    with explained(("roofline",), CODE[1:2], key="formats"):
        is_asked = measured_controls.measure_button(name, text, again=_("Measure again"))
    if not is_asked:
        return
    wanted = sweep_controls.dtype_sweeps(run)
    found = measured_lines(wanted, "dtype_steps")
    if not words.is_measured(found):
        return
    if said := words.dtypes_sentence(wanted, found):
        st.info(said, icon=":material/lightbulb:")
    both_pictures(wanted, found, "formats")
    note(words.formats_note(wanted))


@section
def which_attention_pays(run: Run) -> None:
    """Explicit, fused, window, block-sparse and linear attention, as n doubles."""
    with explained(("attention_kinds",), key="growth_of_kinds"):
        switch("measure_kinds", _("Measure here how time and memory grow with n"))
    if link.value("measure_kinds"):
        how_they_grow(run)


def measured_lines(wanted: tuple[Sweep, ...], key: str) -> Found:
    """As far as they are measured."""
    done = in_steps(sweeps.steps(wanted), what=wanted, key=key, is_asked=True)
    found = sweeps.named(wanted, done.found)
    if said := words.skipped_note(found):
        note(said)
    return found


def both_pictures(wanted: tuple[Sweep, ...], found: Found, key: str) -> None:
    """Time and memory beside each other, and their numbers to keep."""
    left, right = st.columns(2)
    with left:
        shown = wanted, found, "milliseconds"
        show(draw_sweep, *shown, key=f"{key}_time", alt=words.sweep_alt)
    with right:
        show(draw_sweep, wanted, found, "mebibytes", key=f"{key}_memory", alt=words.sweep_alt)
    table = sweeps.table(wanted, found)
    download(f"{key}.csv", lambda: table.to_csv(index=False), "text/csv")


def draw_sweep(wanted: tuple[Sweep, ...], found: Found, of: str):
    """Time or memory against what doubles."""
    rows = sweeps.table(wanted, found)
    is_time = of == "milliseconds"
    return pictures.sweep(
        sweeps.drawn(rows, of),
        words.names(rows, of),
        title=_("Time of one layer") if is_time else _("Peak memory"),
        x_title=_("{what} (logarithmic)").format(what=words.swept(wanted[0].what)),
        unit="ms" if is_time else "MiB",
        _=_,
    )
