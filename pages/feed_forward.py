"""Feed-forward: what the wide layer does."""

import streamlit as st

from blocks.faults import N_
from pages.sections.inputs import what_goes_in
from pages.ui import words
from pages.ui.frame import close_page, open_page, recorded
from pages.ui.language import _

TITLE = N_("Feed-forward: what the wide layer does")


def main() -> None:
    """The story of the page, from top to bottom."""
    run = open_page(TITLE, None)
    st.caption(_("Each token passes the wide layer alone: it is widened, bent and narrowed again."))
    what_goes_in(run)
    recorded(run)
    st.caption(words.summary(run))
    close_page(TITLE)


main()
