"""In a room a session has one place, whatever its link says."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
import streamlit as st

from blocks.lessons.rooms import Rooms
from pages.lessons import wall
from pages.server import machine
from pages.stage import link
from pages.stage.progress import Now

NOW = cast(Now, SimpleNamespace(lesson=SimpleNamespace(id="heads"), i=0))


@pytest.fixture
def rooms(monkeypatch: pytest.MonkeyPatch) -> Rooms:
    found = Rooms()
    monkeypatch.setattr(machine, "rooms", lambda: found)
    st.session_state.clear()
    return found


def guess(**state: Any) -> str:
    """Guess with this link; the place that it has then."""
    link.become(state)
    wall.guessed(NOW, (1.0,))
    return str(link.value("seat"))


def test_a_session_that_chooses_its_places_has_one(rooms: Rooms):
    code, other = rooms.open("heads"), rooms.open("heads")
    taken = {guess(room=code, seat=f"chosen{i}") for i in range(9)}
    assert len(taken) == 1 and not taken & {f"chosen{i}" for i in range(9)}
    assert rooms.room(code).n_learners == 1
    guess(room=other)
    assert rooms.room(other).n_learners == 1


def test_after_a_reload_a_learner_has_the_place_of_before(rooms: Rooms):
    code = rooms.open("heads")
    before = guess(room=code)
    st.session_state.clear()
    assert guess(room=code, seat=before) == before
    assert rooms.room(code).n_learners == 1
