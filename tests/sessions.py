"""The one session that tests without a page share."""

import streamlit as st


def leave() -> None:
    """Forget what was set, as who closes the tab does."""
    st.query_params.clear()
    st.session_state.clear()
