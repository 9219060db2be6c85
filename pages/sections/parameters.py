"""What a model is made of: every parameter, by formula, and counted."""

import streamlit as st

from blocks.cost.parameters import count_parameters
from blocks.run import Run
from pages.figures import parameters
from pages.ui import labelled, tables, words
from pages.ui.chart import show
from pages.ui.explain import heading
from pages.ui.language import _


def what_it_is_made_of(run: Run) -> None:
    """Every parameter, by formula, and counted."""
    heading(_("Parameters"), ("parameters",), (count_parameters,), key="parameters")
    words.parameter_total(run)
    left, right = st.columns([5, 6])
    with left:
        show(draw_parameters, run, key="parameter_bars", alt=words.parameters_alt)
    with right:
        tables.parameters(run)
    st.info(words.parameter_sentence(run), icon=":material/lightbulb:")


def draw_parameters(run: Run):
    """Where the parameters are."""
    return parameters.part_bars(labelled.parameters(run), _=_)
