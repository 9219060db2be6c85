"""Present: one panel a screen, large enough for the back row, led by keys."""

from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

import streamlit as st

from blocks.model.shipped import shipped
from pages.server.address import page_here
from pages.session.slot import Slot
from pages.stage import lecture, link
from pages.stage.press import press
from pages.words.chips import literally
from pages.words.language import _

STYLE = shipped("present.css")
BACK, ON, OUT = "PageUp", "PageDown", "esc"  # the first two are sent by remote controls too
# Where the title of the page stands that this script draws: a panel puts its own there.
PANELS = Slot[tuple[tuple[str, ...], str]]("panels", ((), ""))  # of this page; the one shown
TITLE: ContextVar[Any] = ContextVar("title")


def is_on() -> bool:
    return link.value("present")


def head(title: str) -> None:
    """The title of the page, until its panel is known, and the keys; all of it large."""
    _large()()
    with st.container(horizontal=True, vertical_alignment="center", key="page_head"):
        with st.container(width="stretch"):
            place = st.empty()
        place.title(title)
        TITLE.set(place)
        with st.container(horizontal=True, width="content", key="present_keys"):
            _keys()


@lru_cache(maxsize=1)
def _large() -> Any:
    """What gives the page the sizes of a projector for as long as it stands there."""
    style = STYLE.read_text(encoding="utf-8")
    return st.components.v2.component("blockscope_large", css=style, isolate_styles=False)


def note_panels(names: tuple[str, ...], shown: str, title: str, model: str) -> None:
    """The panels of this page in their order, and the one that stands there: keys lead on.

    `model`: what it shows, where that is the model of the page.
    """
    said = f"{lecture.place()} {title}".strip()
    TITLE.get().title(f"{said} :small[:gray[{literally(model)}]]" if model else said)
    PANELS.keep((names, shown))


def forget_panels() -> None:
    PANELS.keep(((), ""))


def aside() -> AbstractContextManager[Any]:
    """What is set waits in the folded sidebar; where nothing is presented, it stands in place."""
    return st.sidebar if is_on() else nullcontext()


def way_in() -> None:
    """The button that begins it."""
    press(
        _("Present"),
        "present",
        link.change,
        "present",
        True,
        icon="slideshow",
        help=_(
            "Shows one panel per screen in large text; Page Down and Page Up move between panels."
        ),
    )


def _keys() -> None:
    """On, back, and out of it: by button, by key, by the remote control of a projector."""
    leads_on = page_here() != link.HOME_PAGE or lecture.place()
    if leads_on and (lecture.place() or not link.value("lesson")):  # there the keys lead through it
        _lead(-1, _("Previous panel"), ":material/arrow_back:", BACK, "panel_back")
        _lead(1, _("Next panel"), ":material/arrow_forward:", ON, "panel_on")
    press(_("Exit"), "end_present", _end, icon="close", shortcut=OUT)


def _end() -> None:
    lecture.end()
    link.change("present", False)


def _lead(step: int, label: str, icon: str, shortcut: str, key: str) -> None:
    st.button(label, icon=icon, on_click=_go, args=(step,), shortcut=shortcut, key=key)


def _go(step: int) -> None:
    """To the panel after or before; beyond the last and the first, it stays."""
    if lecture.turn(step):
        return
    names, shown = PANELS.get()
    place = names.index(shown) + step if shown in names else -1
    if 0 <= place < len(names):
        link.change("panel", names[place])
