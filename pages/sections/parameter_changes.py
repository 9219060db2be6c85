"""What changes the number of parameters, one change at a time, and where it goes with size."""

import functools

import streamlit as st

from blocks.cost import growth, variations
from blocks.observe.run import Run
from pages.figures import parameter_changes, parameter_growth
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.parameters import controls, frames, tables, words
from pages.ui.said import say


@section
def what_changes_it(run: Run) -> None:
    """Each change counted against the reader's own configuration; a click takes it over."""
    with explained(("parameter_changes",), (variations.variations,), key="changes_story"):
        say(words.changes_sentence, run.config)
    click = functools.partial(controls.apply_clicked, run)
    show(draw_changes, run, key="differences", alt=words.changes_alt, on_click=click)
    controls.change_choice(run)
    with st.expander(_("All changes, down to the last parameter"), icon=":material/table:"):
        tables.changes(run.config)


@section
def where_it_goes(run: Run) -> None:
    """Shares of embeddings, attention and feed-forward over width and depth."""
    code = (growth.over_width, growth.over_depth)
    with explained(("parameter_growth",), code, key="growth_story"):
        say(words.growth_sentence, run.config)
    left, right = columns(2)
    with left:
        show(draw_growth, run, "d_model", key="over_width", alt=words.growth_alt)
    with right:
        show(draw_growth, run, "n_layers", key="over_depth", alt=words.growth_alt)
    note(_("d_ff and separately set head widths grow with d_model; the vocabulary stays."))


def draw_changes(run: Run):
    """A bar a change."""
    return parameter_changes.differences(frames.changes(run.config), _=_)


def draw_growth(run: Run, size: str):
    """Stacked shares against one size."""
    table, own = frames.growth(run.config, size)
    title = _("Over width") if size == "d_model" else _("Over depth")
    names = frames.share_names()
    return parameter_growth.shares(table, names, size=size, own=own, title=title, _=_)
