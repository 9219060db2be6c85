"""Who waits for memory is told, in the reader's language; what is needed at once, comes at once."""

from collections.abc import Callable

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.server import room
from pages.server.turns import NotTogetherError

GIB = 2**30
Need, Tell = Callable[[], int], Callable[[int], None]


def page() -> None:
    import streamlit as st

    from pages.server import room

    room.hold_bytes(2**30, "cpu")
    room.hold_bytes(2**31, "cpu")
    st.write("drawn")


class Busy:
    """Others use the memory: who comes waits a moment, or until it is gone."""

    def __init__(self, *, for_ever: bool):
        self.for_ever = for_ever

    def take(self, need: Need, tell: Tell) -> None:
        if need():
            tell(2)
        if need() and self.for_ever:
            st.stop()


class NotTogether:
    """Two at once do not fit beside what others have, unless they are asked for together."""

    def __init__(self) -> None:
        self.asked = list[int]()
        self.held = 0

    def take(self, need: Need, _tell: Tell) -> None:
        self.asked.append(need())
        if 0 < self.held < need():
            self.held = 0  # its turn is over
            raise NotTogetherError(need())
        self.held = max(self.held, need())


def drawn(monkeypatch: pytest.MonkeyPatch, turns: object, lang: str = "en") -> AppTest:
    monkeypatch.setattr(room, "turns", lambda: turns)
    at = AppTest.from_function(page)
    at.session_state["language"] = lang
    return at.run()


def test_who_waits_is_told_what_for(monkeypatch: pytest.MonkeyPatch):
    at = drawn(monkeypatch, Busy(for_ever=True))
    assert (
        "1.07 GB is needed here, but other users’ models are using it (2 ahead of you)"
        in at.info[0].value
    )
    assert not at.markdown
    at = drawn(monkeypatch, Busy(for_ever=True), "zh")
    assert "正在等待内存" in at.info[0].value and "2 个" in at.info[0].value


def test_who_has_waited_sees_nothing_of_it(monkeypatch: pytest.MonkeyPatch):
    at = drawn(monkeypatch, Busy(for_ever=False))
    assert not at.info and at.markdown[0].value == "drawn"


def test_who_needs_more_beside_what_it_holds_begins_anew_with_all_of_it(
    monkeypatch: pytest.MonkeyPatch,
):
    turns = NotTogether()
    at = drawn(monkeypatch, turns)
    assert at.markdown[0].value == "drawn" and turns.held == 2 * GIB
    assert [each for each in turns.asked if each] == [GIB, 2 * GIB, 2 * GIB, GIB, 2 * GIB]
