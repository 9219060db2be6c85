"""Long work, step by step: how far it is, how long it takes yet, and a way to stop it."""

import time
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Generic, NamedTuple, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType

from pages.ui.language import _

A_MOMENT, A_WHILE = 0.3, 5.0
N_FIRST = 3  # steps that say too little about how long the others take
T = TypeVar("T")


class Done(NamedTuple, Generic[T]):
    """What the steps gave, in their order, and whether the reader stopped before the last."""

    found: list[T]
    is_stopped: bool


def in_steps(
    steps: Sequence[Callable[[], T]], *, what: Hashable, key: str, is_asked: bool = False
) -> Done[T]:
    """Run `steps` behind a progress bar and return their results; each step caches itself.

    `what` identifies the work: other work starts over where this one was stopped. A step
    should take less than a second, since the reader can stop between two of them, or set something
    else, which is answered first. What nobody asked for (`is_asked`) pauses after a while, and the
    reader says whether it goes on.
    """
    place, begun = st.empty(), time.monotonic()
    found: list[T] = []
    n_steps = _n_until_stopped(what, key, len(steps))
    bar = None
    may_go_on = is_asked or st.session_state.get(f"{key}_goes_on") == what
    for i, step in enumerate(steps[:n_steps]):
        if i and _is_touched():
            place.empty()
            return Done(found, is_stopped=True)
        elapsed = time.monotonic() - begun
        if elapsed > A_WHILE and not may_go_on:
            n_steps = i
            st.session_state[f"{key}_stopped"] = (what, i)
            st.session_state[f"{key}_paused"] = what
            break
        if bar is None and elapsed > A_MOMENT:
            bar = _progress(place, what, key)
        if bar is not None:
            bar.progress(i / len(steps), _left(i, len(steps), elapsed))
        found.append(step())
        st.session_state[f"{key}_done"] = (what, i + 1)
    place.empty()
    if n_steps < len(steps):
        with place.container(horizontal=True, vertical_alignment="center"):
            _offer_the_rest(n_steps, len(steps), what, key)
    return Done(found, n_steps < len(steps))


def in_turn(
    work: Callable[[T, int], None], each: Sequence[T], n: int, *, at_once: int
) -> list[Callable[[], None]]:
    """Steps that take each a little further in turn, up to `n`, so that they grow together."""
    return [partial(work, one, end) for end in range(at_once, n + 1, at_once) for one in each]


def _is_touched() -> bool:
    """Whether the reader has touched something meanwhile, the button that stops for one.

    Streamlit hears of what is touched in a section only when the section has come to its end.
    """
    requests = getattr(get_script_run_ctx(), "script_requests", None)
    return getattr(requests, "_state", None) is ScriptRequestType.RERUN


def _n_until_stopped(what: Hashable, key: str, n_steps: int) -> int:
    """How many steps are shown: all, or those that were done when the reader stopped this work."""
    stopped, n_done = st.session_state.get(f"{key}_stopped", (None, 0))
    return n_done if stopped == what else n_steps


def _progress(place: DeltaGenerator, what: Hashable, key: str) -> DeltaGenerator:
    with place.container(horizontal=True, vertical_alignment="center"):
        bar = st.progress(0.0, " ")
        st.button(
            _("Stop"),
            icon=":material/stop:",
            on_click=_stop,
            args=(what, key),
            key=f"{key}_stop",
        )
    return bar


def _left(i: int, n_steps: int, elapsed: float) -> str:
    if i < N_FIRST:
        return _("{done} of {all}").format(done=i, all=n_steps)
    text = _("{done} of {all} · about {seconds:.0f} s left")
    seconds = elapsed / i * (n_steps - i)
    return text.format(done=i, all=n_steps, seconds=seconds)


def _stop(what: Hashable, key: str) -> None:
    known, n_done = st.session_state.get(f"{key}_done", (None, 0))
    st.session_state[f"{key}_stopped"] = (what, n_done if known == what else 0)
    st.session_state.pop(f"{key}_paused", None)


def _go_on(what: Hashable, key: str) -> None:
    st.session_state.pop(f"{key}_stopped", None)
    st.session_state[f"{key}_goes_on"] = what


def _offer_the_rest(n_done: int, n_steps: int, what: Hashable, key: str) -> None:
    text = _("You stopped it: {done} of {all} are done, and only these are drawn.")
    if st.session_state.get(f"{key}_paused") == what:
        text = _("Paused to keep the page responsive: {done} of {all} are done and drawn.")
    st.caption(text.format(done=n_done, all=n_steps))
    st.button(
        _("Continue"),
        icon=":material/play_arrow:",
        on_click=_go_on,
        args=(what, key),
        key=f"{key}_go_on",
    )
