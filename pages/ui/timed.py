"""A measurement that the reader asked for, and that stays until something else is set."""

import time
from collections.abc import Hashable

import streamlit as st

from pages.ui.language import _


def measure_control(*measured: Hashable) -> int | None:
    """The button that measures (again); which attempt is shown, or None before the first."""
    if st.button(_("Measure with and without the cache"), icon=":material/timer:", key="measure"):
        st.session_state["timed"] = (measured, time.monotonic_ns())
    asked, attempt = st.session_state.get("timed", (None, 0))
    return attempt if asked == measured else None
