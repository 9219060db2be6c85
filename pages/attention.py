"""Attention: where a token reads from."""

import streamlit as st

from blocks.faults import N_
from pages.sections.inputs import what_goes_in
from pages.ui import words
from pages.ui.frame import close_page, open_page, recorded
from pages.ui.language import _

TITLE = N_("Attention: where a token reads from")


def main() -> None:
    """The story of the page, from top to bottom."""
    run = open_page(TITLE, None)
    st.caption(
        _("Every head scores each pair of tokens; weights made of the scores mix the values.")
    )
    what_goes_in(run)
    recorded(run)
    st.caption(words.summary(run))
    close_page(TITLE)


main()
