"""The picture that moves: our own component, and where in it the reader is.

The place stands in the link. The picture tells it while it rests; it is told only where the link
says another one than it did itself: to be told its own would set it back in mid-motion.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any

import streamlit as st
from streamlit.components.v2.types import ComponentRenderer

from blocks.model.shipped import shipped
from pages.figures.page_file import component_as_html
from pages.server.readers import UnreadableError, as_text
from pages.session.slot import Slot, shown_by
from pages.stage import link
from pages.state.fields import FIELDS
from pages.state.values import State

ASSETS = shipped("forward_pass")
SCRIPTS = (
    "scene",
    "layout",
    "bands",
    "paint",
    "cached",
    "moving",
    "labels",
    "hands",
    "together",
    "view",
)
KEY = "forward_pass"
NAMES = ("zoom", "moment", "cell", "layer", "head", "cached", "drafts", "direction")
TOLD = Slot[tuple[Any, ...]]("place_told", ())
SENT = Slot[tuple[int, dict[str, Any]]]("place_sent", (0, {}))  # the how many-th place


@lru_cache(maxsize=1)
def component() -> ComponentRenderer:
    """Registered once a process: what the browser draws with, as it stands in our own files."""
    drawn = _drawn_with()
    return st.components.v2.component(
        "blockscope_forward_pass", html=drawn["html"], css=drawn["css"], js=drawn["js"]
    )


def _drawn_with() -> dict[str, str]:
    read = {path.name: path.read_text(encoding="utf-8") for path in ASSETS.iterdir()}
    scripts = "\n".join(read[f"{name}.js"] for name in SCRIPTS)
    return {"html": read["page.html"], "css": read["style.css"], "js": scripts}


def as_html(sent: bytes) -> str:
    drawn = _drawn_with()
    return component_as_html(drawn["html"], drawn["css"], drawn["js"], sent)


def begin() -> None:
    """The page is drawn anew: the picture is told its place."""
    TOLD.take()


def moving_picture(
    message_at: Callable[[dict[str, Any]], bytes], write: Callable[[], None], state: State
) -> None:
    """Draw it; `message_at` makes what is sent, of the place; `write` appends the next word."""
    here = tuple(state[name] for name in NAMES)
    if here != TOLD.get():
        number = SENT.get()[0] + 1
        SENT.keep((number, dict(zip(NAMES, here, strict=True))))
        TOLD.keep(here)
    number, place = SENT.get()
    component()(
        key=KEY,
        data=message_at({"place_id": number, "place": _for_the_picture(place)}),
        on_place_change=_note_place,
        on_wrote_change=write,
    )


def beside(sent: bytes) -> None:
    """The picture of A, which shows the moment that the one of B is at."""
    component()(key=f"{KEY}_a", data=sent)


def chosen_cell(state: State) -> tuple[str, int, int] | None:
    """What the reader has zoomed to: the path of a matrix, a row and a column of it."""
    is_there = state.zoom == "cell"
    return _cell(state.cell) if is_there else None


def _cell(text: str) -> tuple[str, int, int] | None:
    path, _colon, at = text.partition(":")
    row, _comma, column = at.partition(",")
    return (path, int(row), int(column)) if column else None


def _for_the_picture(place: dict[str, Any]) -> dict[str, Any]:
    cell = _cell(place["cell"])
    named = dict(zip(("path", "row", "col"), cell, strict=True)) if cell else None
    return {**place, "head": place["head"] or 0, "cell": named}


def _note_place() -> None:
    """Where the reader has come goes into the link; what is no place is left aside."""
    told = shown_by(KEY).get("place")
    if not isinstance(told, dict):
        return
    cell = told.get("cell") or {}
    zoom = told.get("zoom")
    is_close = zoom in ("head", "cell")
    values = {
        "zoom": zoom,
        "moment": told.get("moment"),
        "direction": told.get("direction"),
        "cached": as_text(bool(told.get("cached"))),
        "drafts": as_text(bool(told.get("drafts"))),
        "cell": f"{cell.get('path')}:{cell.get('row')},{cell.get('col')}" if cell else "",
        "layer": None if zoom == "model" else told.get("layer"),
        "head": told.get("head") if is_close else None,
    }
    for name, new in values.items():
        if new is not None:
            text = str(new)
            with suppress(UnreadableError):
                link.change(name, FIELDS[name].read(text))
    TOLD.keep(tuple(link.value(name) for name in NAMES))
