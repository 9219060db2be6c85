"""Norms: what they do for depth."""

import streamlit as st

from blocks.faults import N_
from pages.sections.inputs import what_goes_in
from pages.ui import words
from pages.ui.frame import close_page, open_page, recorded
from pages.ui.language import _

TITLE = N_("Norms: what they do for depth")


def main() -> None:
    """The story of the page, from top to bottom."""
    run = open_page(TITLE, None)
    st.caption(_("A norm brings values to one scale; where it stands decides how deep one can go."))
    what_goes_in(run)
    recorded(run)
    st.caption(words.summary(run))
    close_page(TITLE)


main()
