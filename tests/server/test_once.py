"""What all readers share is out of the reach of any of them."""

import ast
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import streamlit as st
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime.app_session import AppSession

from pages.server import brought, cached, machine, metrics, ready, runs
from pages.server.once import once
from pages.show import steps

SHARED = (
    *(machine.folder, machine.queue, machine.turns, machine.rooms, runs.runs, steps.works),
    *(cached.recordings, cached.models, cached.packed_models),
    *(brought._temporary, brought._opened, ready._kept, metrics._seconds),
)


def send(message: BackMsg) -> None:
    """As a browser sends it, to a session that has nothing but its own state."""
    session: Any = SimpleNamespace(_session_state={}, _debug_last_backmsg_id=None)
    clear = AppSession._handle_clear_cache_request.__get__(session)
    session._handle_clear_cache_request = clear
    AppSession.handle_backmsg(session, message)


def test_a_browser_that_clears_the_caches_takes_nothing_from_others():
    room = machine.rooms().open("heads")
    before = [find() for find in SHARED]
    send(BackMsg(clear_cache=True))
    assert all(find() is found for find, found in zip(SHARED, before, strict=True))
    assert machine.rooms().lesson_of(room) == "heads"
    assert Path(brought._temporary().name).is_dir()


def test_the_message_does_clear_what_streamlit_keeps():
    @st.cache_resource
    def kept() -> object:
        return object()

    before = kept()
    send(BackMsg(clear_cache=True))
    assert kept() is not before


def test_streamlit_keeps_nothing_but_what_is_of_a_session():
    paths = (path for folder in ("pages", "blocks") for path in Path(folder).rglob("*.py"))
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and "st.cache_" in ast.unparse(node.func):
                assert "scope='session'" in ast.unparse(node), path


def test_many_who_ask_at_once_get_the_same():
    begun = threading.Barrier(8)

    @once
    def made(name: str) -> list[Any]:
        return [name]

    def ask(name: str) -> Any:
        begun.wait()
        return made(name)

    with ThreadPoolExecutor(8) as readers:
        found = list(readers.map(ask, "abababab"))
    assert len({*map(id, found)}) == 2
    made.clear()
    assert made("a") is not found[0]
