"""The setting before, so that a change is seen as a change."""

from collections.abc import Hashable
from typing import TypeVar

import streamlit as st

from blocks.observe.run import Run

SHOWN = "shown"  # of each kind of thing what is shown, and what was before it
RUN = "run"
Shown = TypeVar("Shown", bound=Hashable)


def run_before(run: Run) -> Run | None:
    """The run that this session showed before this one."""
    return before(RUN, run)


def before(kind: str, current: Shown) -> Shown | None:
    """What this session showed of a kind before what it shows now; None at first."""
    kept = st.session_state.setdefault(SHOWN, {})
    newest, earlier = kept.get(kind, (None, None))
    if current != newest:
        newest, earlier = kept[kind] = current, newest
    return earlier


def forget() -> None:
    """Begin anew: nothing was shown before."""
    st.session_state.pop(SHOWN, None)


def ghost_of(run: Run) -> Run | None:
    """The run before this one, where the page has asked for it."""
    current, earlier = st.session_state.get(SHOWN, {}).get(RUN, (None, None))
    return earlier if current == run else None
