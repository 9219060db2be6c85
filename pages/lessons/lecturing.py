"""A lecturer's two devices: a screen with the panels, a phone with their notes; each turns both."""

from contextlib import suppress
from urllib.parse import urlencode

import streamlit as st

from blocks import ConfigError
from blocks.lessons.rooms import N_SIGNS
from pages.lessons import joining
from pages.lessons.wall import EVERY
from pages.server import machine
from pages.session.slot import Slot
from pages.stage import lecture, led, link
from pages.words.language import _, say_fault

LED_AT = Slot[tuple[str, int] | None]("lecture_led_at", None)  # where both devices were last


def _room() -> tuple[str, str]:
    """The code of the room in which both keep together, and the word that leads it."""
    lead = link.value(lecture.LEAD)
    return lead[:N_SIGNS], lead[N_SIGNS:]


def reads_notes() -> bool:
    """Whether this is the lecturer's phone."""
    with suppress(ConfigError):
        is_asked = link.value("notes") and link.value(lecture.AT) is not None and lecture.steps()
        return bool(is_asked) and machine.rooms().is_led_by(*_room())
    return False


def offer_notes() -> None:
    """The way for the phone, beside the lecture that was put together."""
    if not link.value(lecture.STEPS):
        return
    label, icon = _("Notes on my phone"), ":material/phone_iphone:"
    if st.button(label, icon=icon, on_click=_open_room, key="lecture_notes"):
        if fault := led.ROOM_FAULT.take():
            st.warning(say_fault(fault))
            return
        code, word = _room()
        st.caption(_("Turn a page on the phone or on the screen: the other one follows."))
        joining.show_to_lead(code, machine.rooms().pass_for(code, word))


def _open_room() -> None:
    """A room for the two devices, with the lecture as it is now; a callback."""
    query = {lecture.STEPS: link.value(lecture.STEPS), lecture.AT: "0"}
    way = f"{lecture.steps()[0].page}?{urlencode(query)}"
    try:
        code, word = _room()
        if not machine.rooms().is_led_by(code, word):
            mine, word = led.MY_ROOMS.get(), led.new_word()
            code = machine.rooms().open(lecture.STEPS, way, mine, leader=word)
            led.MY_ROOMS.keep((*mine, code))
            link.change(lecture.LEAD, code + word)
        machine.rooms().relink(code, word, way)
    except ConfigError as error:
        led.ROOM_FAULT.keep(error.faults[0])


def show_notes() -> None:
    """What is to be said at the step that the screen shows, what comes next, and the keys."""
    steps, at = lecture.steps(), min(link.value(lecture.AT), len(lecture.steps()) - 1)
    text = _("{title}: panel {n} of {all}")
    st.caption(text.format(title=_("My lecture"), n=at + 1, all=len(steps)))
    with st.container(horizontal=True, key="notes_keys"):
        _way(_("Previous panel"), ":material/arrow_back:", at - 1, "notes_back")
        _way(_("Next panel"), ":material/arrow_forward:", at + 1, "notes_on")
    with st.container(key="notes"):
        st.markdown(f"##### {steps[at].title}")
        said = steps[at].before or _("There are no notes for this panel.")
        st.markdown(said.replace("\n", "  \n"))  # line by line, as they were written
    if steps[at + 1 :]:
        st.caption(_("Next: {title}").format(title=steps[at + 1].title))
    keep_together()


def _way(label: str, icon: str, to: int, key: str) -> None:
    is_off = not 0 <= to < len(lecture.steps())
    st.button(label, icon=icon, on_click=lecture.begin, args=(to,), disabled=is_off, key=key)


def keep_together() -> None:
    """Tell the other device where this one is, and go where that one goes."""
    (code, word), at = _room(), link.value(lecture.AT)
    if not code or at is None:
        return
    before = LED_AT.get() or (code, at)
    with suppress(ConfigError):
        if before[0] == code and before[1] != at:
            machine.rooms().go_to(code, word, at)
        LED_AT.keep((code, at))
        st.fragment(_look, run_every=EVERY)()


def _look() -> None:
    """Go where the other device is."""
    code, _word = _room()
    with suppress(ConfigError):
        found = machine.rooms().lead(code)
        if found is None or found.step >= len(lecture.steps()):
            return
        if LED_AT.get() != (code, found.step):
            LED_AT.keep((code, found.step))
            lecture.begin(found.step)
            st.rerun(scope="app")
