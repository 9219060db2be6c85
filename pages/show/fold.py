"""One line that opens: what is in it is drawn where it is open."""

from typing import Any

import streamlit as st

from pages.session.slot import Slot
from pages.show.everything import is_all
from pages.show.share import ALL
from pages.stage import present


def fold(label: str, *, key: str, takes_long: bool = False, **look: Any) -> Any:
    """An expander that stays open while its label changes, as when it says what was set in it.

    Where all panels are open it is another one and begins open, unless what is in it `takes_long`.
    Where one is presented, it waits in the sidebar.
    """
    name = f"{key}_{ALL}" if is_all() else key
    begins_open = is_all() and not takes_long
    is_open = Slot(name, begins_open)
    is_open.keep(is_open.get())
    with present.aside():
        return st.expander(label, key=name, on_change="rerun", **look)


def details(label: str, **look: Any) -> Any:
    """Exact numbers below the pictures, in one line that opens; in the sidebar before a class."""
    with present.aside():
        return st.expander(label, **look)
