"""The list of what is kept: names, which is A, files in and out."""

import streamlit as st

from pages.panels.compare.pairs import PAIRS, set_pair
from pages.ui.language import _


def ready_pairs() -> None:
    """A and B at once, by one button each."""
    for column, (name, pair) in zip(st.columns(len(PAIRS)), PAIRS.items(), strict=True):
        with column:
            st.button(
                _(pair.title),
                icon=":material/compare_arrows:",
                key=f"pair_{name}",
                on_click=set_pair,
                args=(name,),
                width="stretch",
            )
            st.caption(_(pair.why))
