"""Attention: where a token reads from."""

import streamlit as st

from blocks.faults import N_
from blocks.run import Run
from pages.sections.attention_steps import steps_of_a_head
from pages.sections.inputs import what_goes_in
from pages.ui import labelled, words
from pages.ui.attention.controls import which_head
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
    chosen = chosen_head(run)
    which_head(run, *chosen)
    steps_of_a_head(run, *chosen)
    close_page(TITLE)


def chosen_head(run: Run) -> tuple[int, int, int]:
    """Layer, head and token that the reader looks at."""
    head = labelled.selected_head(run)
    return labelled.selected_layer(run), head, labelled.pinned_token(run)


main()
