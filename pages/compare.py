"""Two configurations side by side, and all that are kept."""

import streamlit as st

from blocks.faults import N_
from pages.ui.frame import close_page, open_page
from pages.ui.language import _

TITLE = N_("Compare")


def main() -> None:
    """The story of the page, from top to bottom."""
    open_page(TITLE, None)
    st.caption(_("A is what you keep, B is what is set now; both read the same text and seed."))
    close_page(TITLE)


main()
