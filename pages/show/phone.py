"""Phones: what stands beside another thing on a wide window stands elsewhere, and fingers point."""

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import streamlit as st

from blocks.model.shipped import shipped
from pages.show.fold import fold
from pages.stage import link
from pages.stage.phone import NARROW, is_phone

TOUCH, TARGETS = shipped("touch.js"), shipped("touch.css")


def at_hand(place: AbstractContextManager[Any] | None = None) -> AbstractContextManager[Any]:
    """The bottom of a phone's screen, which stays there while the page scrolls.

    On a wide window: `place`, or here.
    """
    if is_phone():
        return st.bottom
    return nullcontext() if place is None else place


def folded(label: str, draw: Callable[[], None], *, key: str, is_folded: bool = False) -> None:
    """Draw controls; on a phone, whose first screen they would fill, in one line that opens.

    `label`: what is set in them. `is_folded`: on a wide window as well.
    """
    if not (is_folded or is_phone()):
        draw()
        return
    with (own := fold(label, key=key, icon=":material/tune:")):
        if own.open:
            draw()


def fingers_point() -> None:
    """Let a tap on a picture act on what is under the finger, and a finger scroll the page there.

    Plotly chooses what was pointed at last, which is what the tap before has touched, and holds
    the page. What is touched is as large as a finger, and the menu closes behind what it chose.
    A phone that did not say so by its name says so here. Who opens another panel begins at its
    title.
    """
    told = {"isPhone": is_phone(), "panel": link.value("panel")}
    _touch()(key="touch", data=told, on_narrow_change=lambda: NARROW.keep(True))


@functools.cache
def _touch() -> Callable[..., Any]:
    js, css = (path.read_text(encoding="utf-8") for path in (TOUCH, TARGETS))
    return st.components.v2.component("blockscope_touch", js=js, css=css, isolate_styles=False)
