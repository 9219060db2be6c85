"""Present: one panel a screen, large enough for the back row, led by keys."""

import time
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

import streamlit as st

from blocks.model.shipped import shipped
from pages.session.slot import Slot
from pages.stage import lecture, link
from pages.stage.press import press
from pages.words.chips import literally
from pages.words.language import _

STYLE, KEYS = shipped("present.css"), shipped("present.js")
BACK, ON, OUT = "PageUp", "PageDown", "esc"  # the first two are sent by remote controls too
PANELS = Slot[tuple[tuple[str, ...], str]]("panels", ((), ""))  # of this page; the one shown
# Where title and keys of the page stand that this script draws: a panel puts its own there.
PLACES: ContextVar[tuple[Any, Any]] = ContextVar("places")


MARK = "large"  # what first stands on a page that is presented: by it the style knows
IS_LARGE = Slot("is_large", False)  # what the browser shows
A_MOMENT = 0.25  # seconds in which a browser takes in what it was sent


def is_on() -> bool:
    return link.value("present")


def head(title: str) -> None:
    """The title of the page, until its panel is known, and the keys; all of it large."""
    _large()()
    IS_LARGE.keep(True)
    with st.container(horizontal=True, vertical_alignment="center", key="page_head"):
        with st.container(width="stretch"):
            place = st.empty()
        place.title(title)
        with st.container(horizontal=True, width="content", key="present_keys"):
            PLACES.set((place, st.container(horizontal=True, width="content")))
            press(_("Exit"), "end_present", _end, icon="close", shortcut=OUT)


def wait_until_small() -> None:
    """Let the browser take back its sizes, once it knows that nothing is presented.

    Tables, charts and signs that it learns of in the same moment would still measure by them.
    """
    if IS_LARGE.get():
        IS_LARGE.keep(False)
        time.sleep(A_MOMENT)


@lru_cache(maxsize=1)
def _large() -> Any:
    """What gives the page the sizes and the keys of a projector for as long as it stands there."""
    css, js = (path.read_text(encoding="utf-8") for path in (STYLE, KEYS))
    return st.components.v2.component("blockscope_large", css=css, js=js, isolate_styles=False)


def note_panels(
    names: tuple[str, ...], shown: str, title: str, model: str, *, has_steps: bool = False
) -> None:
    """The panels of this page in their order, and the one that stands there: keys lead on.

    Where there are no others, as in a lesson, whose own keys lead through it, there are none.

    `model`: what it shows, where that is the model of the page. `has_steps`: the keys lead through
    the steps of the panel first, which takes them.
    """
    said = f"{lecture.place()} {title}".strip()
    title_place, keys = PLACES.get()
    title_place.title(f"{said} :small[:gray[{literally(model)}]]" if model else said)
    PANELS.keep((names, shown))
    if len(names) > 1 or (names and lecture.place()):
        with keys:
            lead(-1, has_key=not has_steps)
            lead(1, has_key=not has_steps)


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


def _end() -> None:
    lecture.end()
    link.change("present", False)


def lead(by: int, *, has_key: bool = True) -> None:
    """On, or back: by button, by key, by the remote control of a projector."""
    label, icon, shortcut, key = (
        (_("Next panel"), "forward", ON, "panel_on")
        if by > 0
        else (_("Previous panel"), "back", BACK, "panel_back")
    )
    st.button(
        label,
        icon=f":material/arrow_{icon}:",
        on_click=go,
        args=(by,),
        shortcut=shortcut if has_key else None,
        disabled=not leads(by),
        key=key,
    )


def leads(by: int) -> bool:
    """Whether there is a panel so many on, of the lecture or of the page."""
    return lecture.leads(by) if lecture.place() else bool(_beside(by))


def _beside(by: int) -> str:
    """The panel of this page so many on; nothing beyond the last and the first."""
    names, shown = PANELS.get()
    place = names.index(shown) + by if shown in names else -1
    return names[place] if 0 <= place < len(names) else ""


def go(by: int) -> None:
    """To the panel after or before; where there is none, it stays."""
    if not lecture.turn(by) and (name := _beside(by)):
        link.change("panel", name)
        link.redraw_everything()
