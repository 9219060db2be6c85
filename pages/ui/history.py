"""The setting before, so that a change is seen as a change."""

import streamlit as st

from blocks.observe.run import Run


def run_before(run: Run) -> Run | None:
    """The run that this session showed before this one."""
    current, before = st.session_state.get("runs", (None, None))
    if run != current:
        current, before = run, current
        st.session_state["runs"] = (current, before)
    return before


def ghost_of(run: Run) -> Run | None:
    """The run before this one, where the page has asked for it."""
    current, before = st.session_state.get("runs", (None, None))
    return before if current == run else None
