"""What the reader sets on the page of costs."""

import streamlit as st

from pages.ui import link
from pages.ui.controls import slide
from pages.ui.language import _

LENGTHS = tuple(2**i for i in range(4, 18))
BATCHES = tuple(2**i for i in range(11))


def shape_controls() -> None:
    """How long a text is, and how many go through at once: the same for the whole page."""
    left, right = st.columns(2)
    with left:
        slide("context_len", _("n · tokens of a text"), LENGTHS, link.value("context_len"))
    with right:
        slide("n_texts", _("batch · texts at once"), BATCHES, link.value("n_texts"))
