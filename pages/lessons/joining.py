"""The way into a room: a short address, as text and for a camera, or its code."""

from contextlib import suppress
from urllib.parse import parse_qsl, urlencode, urljoin

import streamlit as st

from blocks import ConfigError
from blocks.lessons.lesson import Lesson
from blocks.lessons.rooms import PASS_HOLDS
from pages.server import address, machine
from pages.server.address import page_here
from pages.session.slot import Slot
from pages.show import share
from pages.stage import hidden, lecture, link, progress
from pages.words.language import _, say_fault

CAME_IN = Slot[tuple[str, str]]("came_in", ("", ""))  # by which code and word
WAY = Slot[tuple[str, dict[str, str]] | None]("way_into_room", None)  # where that led


def address_of(code: str) -> str:
    """The address of a room: that of Home with its code."""
    query = {"room": code, **hidden.query_for_others()}
    return f"{urljoin(address.of_this_page().text, '.')}?{urlencode(query)}"


def typed(whole: str) -> str:
    """An address as people type it, without the beginning that a browser adds."""
    return whole.rpartition("://")[2]


def code_for_a_camera(code: str, *, width: int = share.SIDE) -> None:
    alt = _("QR code of the link below")
    st.image(share.qr_code(address_of(code)), width=width, alt=alt)


def show(code: str) -> None:
    """The code for a camera first, then the address, whole."""
    whole = address_of(code)
    code_for_a_camera(code)
    st.code(whole, language=None, wrap_lines=True)
    st.caption(
        _("Or go to Home, choose Take a lesson, and enter the code {code}.").format(code=code)
    )
    if reach := share.REACH[address.of_this_page().reach]:
        st.caption(_(reach))
    st.caption(
        _("The link in your own address bar brings you back to this room as its teacher: keep it.")
    )


def show_to_lead(code: str, word: str) -> None:
    """The way for one more device that leads: once, and soon."""
    whole = f"{address_of(code)}&{urlencode({'seat': word})}"
    st.warning(
        _(
            "Anyone who opens this link can lead the class, so blank the projector while it "
            "is shown. It works once, within {n} minutes."
        ).format(n=round(PASS_HOLDS / 60))
    )
    st.image(share.qr_code(whole), width=share.SIDE, alt=_("QR code of the link below"))
    st.code(whole, language=None, wrap_lines=True)


def begin_page() -> None:
    """Before Home reads its link: lead who brings the code of a room to its lesson, once.

    Who goes back from there stays on Home; the browser keeps no further entry of it.
    """
    opened = link.read(st.query_params.to_dict()).values
    code, word = opened.get("room", ""), opened.get("seat", "")
    if not code or page_here() != link.HOME_PAGE or CAME_IN.get() == (code, word):
        return
    CAME_IN.keep((code, word))
    with link.as_if(opened), suppress(ConfigError):
        found, leader = _lesson(code), machine.rooms().taken(code, word) if word else ""
        if leader and machine.rooms().lesson_of(code) == lecture.STEPS:
            page, _sign, step = machine.rooms().link_of(code).partition("?")
            lead = {lecture.LEAD: code + leader, "notes": "true"}
            st.switch_page(f"pages/{page}.py", query_params=dict(parse_qsl(step)) | lead)
        if found and (leader or not word):
            path, query = _way_to_lead(found, code, leader) if leader else _way_in(found, code)
            WAY.keep((path, query))
            st.switch_page(path, query_params=query)


def on_home() -> None:
    """Why there is no way into the room of the link, or the way back into it."""
    code, word = link.value("room"), link.value("seat")
    if not code:
        return
    way = WAY.get()
    if way and way[1]["room"] == code:
        label, icon = _("Back to the lesson"), ":material/school:"
        with st.container(key="back_to_room"):
            st.page_link(way[0], label=label, icon=icon, query_params=way[1])
    elif _found(code) and word:
        text = _(
            "This link has already been used, or it is more than {n} minutes old. Make a new "
            "one on the class screen."
        )
        st.warning(text.format(n=round(PASS_HOLDS / 60)))


def by_code() -> None:
    """Where a code is typed: Enter, or the button, leads to the lesson of the room."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        code = st.text_input(
            _("Room code"),
            max_chars=6,
            key="room_code",
            help=_("Six letters and digits, shown by your teacher."),
        )
        st.button(_("Join the class"), type="primary", key="join_room")
    if (written := code.strip().upper()) and (way := _found(written)):
        path, query = way
        st.switch_page(path, query_params=query)


def _found(code: str) -> tuple[str, dict[str, str]] | None:
    """The way into the room of a code; why there is none is said."""
    try:
        found = _lesson(code)
    except ConfigError as error:
        st.warning(say_fault(error.faults[0]))
        return None
    if found is None:
        st.warning(_("No open room has this code. Rooms last a day."))
        return None
    return _way_in(found, code)


def _lesson(code: str) -> Lesson | None:
    name = machine.rooms().lesson_of(code)
    return progress.lesson(name) if name else None


def _way_to_lead(lesson: Lesson, code: str, leader: str) -> tuple[str, dict[str, str]]:
    """To the notes of the step that is open, for the leader's second device."""
    found, n = machine.rooms().lead(code), len(lesson.steps)
    path, query = progress.way_in(lesson, min(found.step, n - 1) if found else 0)
    return path, {**query, "room": code, "wall": "true", "notes": "true", "seat": leader}


def _way_in(lesson: Lesson, code: str) -> tuple[str, dict[str, str]]:
    """The first step in a room, with what its leader had set; the learner's own language."""
    path, query = progress.way_in(lesson)
    led = dict(parse_qsl(machine.rooms().link_of(code)))
    led.pop("lang", None)
    return path, {**query, **led, "room": code}
