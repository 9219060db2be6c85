"""Lines that open: what is in them is drawn, and computed, where they are open."""

import pytest
import streamlit as st
from sessions import leave

from pages.show.fold import fold
from pages.stage import link

pytestmark = pytest.mark.usefixtures("session")


def folds() -> tuple[bool, bool]:
    """Whether one of two folds is open, and whether another one is that takes long."""
    fold("quick", key="quick")
    fold("long", key="long", takes_long=True)
    of_page = "_all" if link.value("panel") == "all" else ""
    return st.session_state[f"quick{of_page}"], st.session_state[f"long{of_page}"]


def test_where_all_panels_are_open_a_fold_is_too_unless_it_takes_long():
    assert folds() == (False, False)
    leave()
    link.change("panel", "all")
    assert folds() == (True, False)


def test_a_fold_that_was_opened_stays_so():
    link.change("panel", "all")
    st.session_state["long_all"] = True
    assert folds() == (True, True)
