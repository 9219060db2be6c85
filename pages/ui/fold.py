"""One line that opens: what is in it is drawn where it is open."""

from typing import Any

import streamlit as st

from pages.ui import everything


def fold(label: str, *, key: str, **look: Any) -> Any:
    """An expander that stays open while its label changes, as when it says what was set in it.

    Where all panels are open it begins open, and is another one.
    """
    name = f"{key}_{everything.ALL}" if everything.is_all() else key
    st.session_state[name] = bool(st.session_state.get(name, everything.is_all()))
    return st.expander(label, key=name, on_change="rerun", **look)
