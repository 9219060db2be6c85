"""A trained model shown where the reader's own has nothing to show."""

import streamlit as st

from blocks.observe.run import Run
from pages.ui import starts
from pages.ui.compare import beside
from pages.ui.language import _
from pages.ui.link_fields.compare import Kept


def shown_instead(preset: str) -> Run:
    """A run of a trained model on the reader's text, and a line that says so."""
    st.caption(_("Shown here instead: {model}.").format(model=_(starts.start(preset).title)))
    return beside.run_as_it_is(Kept("", (("preset", preset),)))
