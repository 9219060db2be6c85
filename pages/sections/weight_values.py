"""The weights themselves: how they are spread, by kind."""

import streamlit as st

from blocks.inspection import weight_values as measures
from blocks.model.faults import ConfigError
from blocks.observe.run import Run
from pages.figures import weight_values
from pages.ui.chart import show, show_now
from pages.ui.controls import switch
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, say_fault
from pages.ui.parameters import frames, measured, tables, weights_file, words


@section
def how_they_are_spread(run: Run) -> None:
    """Histograms of the weights; a large model is built when the reader asks."""
    place = explained(("weight_values",), (measures.weight_values,), key="values_story")
    if too_large := words.too_large(run):
        place.info(too_large, icon=":material/block:")
        return
    if not measured.is_small(run):
        note(words.building_note(run))
        switch("spread_of_weights", _("Build it and inspect its weights"))
    if not measured.is_shown(run):
        return
    try:
        with st.spinner(_("Drawing and counting the weights …"), show_time=True):
            found = measured.values(run)
    except ConfigError as error:
        st.warning(say_fault(error.faults[0]), icon=":material/block:")
        return
    place.info(words.values_sentence(run, found.moments), icon=":material/lightbulb:")
    if found.is_finite:
        show(draw_values, run, key="weight_values", alt=words.values_alt)
    tables.moments(found.moments, key="moment_table")
    note(words.values_note(run))


@section
def those_of_a_file() -> None:
    """The same of weights that a reader brings, below those of the page."""
    weights_file.upload()
    file = weights_file.found()
    if file is None:
        return
    st.info(weights_file.sentence(file), icon=":material/description:")
    moments = frames.moments(file.values.moments)
    picture = weight_values.panels(file.values.bins, moments, _=_)
    show_now(picture, key="file_values", alt=words.spread_alt(moments))
    tables.moments(file.values.moments, key="file_moment_table")


def draw_values(run: Run):
    """A panel for each kind."""
    found = measured.values(run)
    return weight_values.panels(found.bins, frames.moments(found.moments), _=_)
