"""What a model costs: operations, memory, time, training; counted, estimated and measured."""

import streamlit as st

from blocks.faults import N_
from pages.ui.cost.controls import shape_controls
from pages.ui.explain import contents
from pages.ui.frame import close_page, open_counting_page
from pages.ui.language import _

TITLE = N_("Cost")
CONTENTS: dict[str, str] = {}


def main() -> None:
    """The story of the page, from top to bottom."""
    open_counting_page(TITLE)
    st.caption(_("What a model of these sizes costs, before anyone builds it: nothing is built."))
    shape_controls()
    contents(CONTENTS)
    close_page(TITLE)


main()
