"""The way into a room: a short address, as text and for a camera, or its code."""

from urllib.parse import parse_qsl, urlencode, urljoin

import streamlit as st

from blocks import ConfigError
from blocks.lessons.lesson import Lesson
from pages.ui import address, hidden, link, machine, share
from pages.ui.language import _, say_fault
from pages.ui.lessons import progress


def address_of(code: str) -> str:
    """The address of a room: that of Home with its code."""
    query = {"room": code, **hidden.query_for_others()}
    return f"{urljoin(address.of_this_page().text, '.')}?{urlencode(query)}"


def typed(whole: str) -> str:
    """An address as people type it, without the beginning that a browser adds."""
    return whole.rpartition("://")[2]


def show(code: str) -> None:
    """The code for a camera first, then the address, whole."""
    whole = address_of(code)
    st.image(share.qr_code(whole), width=share.SIDE, alt=_("QR code of the link below"))
    st.code(whole, language=None, wrap_lines=True)
    st.caption(
        _("Or on Home: Take a lesson → Join a class, with the code {code}.").format(code=code)
    )
    if reach := share.REACH[address.of_this_page().reach]:
        st.caption(_(reach))
    st.caption(_("Your own address bar leads you back to this room as its teacher: keep it."))


def come_in() -> None:
    """Lead who opens Home with the code of a room to its lesson."""
    if (code := link.value("room")) and (way := _found(code)):
        path, query, _title = way
        st.switch_page(path, query_params=query)


def by_code() -> None:
    """Where a code is typed; it leads to the lesson of the room."""
    code = st.text_input(
        _("Room code"),
        max_chars=6,
        key="room_code",
        help=_("Six letters and digits, shown by your teacher."),
    )
    if (written := code.strip().upper()) and (way := _found(written)):
        path, query, title = way
        label = _("Join: {title}").format(title=title)
        st.page_link(path, label=label, icon=":material/login:", query_params=query)


def _found(code: str) -> tuple[str, dict[str, str], str] | None:
    """The way into the room of a code and the title of its lesson; why there is none is said."""
    try:
        name = machine.rooms().lesson_of(code)
    except ConfigError as error:
        st.warning(say_fault(error.faults[0]))
        return None
    found = progress.lesson(name) if name else None
    if found is None:
        st.warning(_("No open room has this code. Rooms last a day."))
        return None
    return *_way_in(found, code), found.title


def _way_in(lesson: Lesson, code: str) -> tuple[str, dict[str, str]]:
    """The first step in a room, with what its leader had set; the learner's own language."""
    path, query = progress.way_in(lesson)
    led = dict(parse_qsl(machine.rooms().link_of(code)))
    led.pop("lang", None)
    return path, {**query, **led, "room": code}
