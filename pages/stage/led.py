"""A class that is led: its learners wait for the answers that the teacher shows, and follow."""

import secrets
from contextlib import suppress

from blocks import ConfigError, Fault
from blocks.lessons.rooms import Lead
from pages.server import machine
from pages.session.slot import Slot
from pages.stage import link

MY_ROOMS = Slot[tuple[str, ...]]("my_rooms", ())  # those that this reader has opened
ROOM_FAULT = Slot[Fault | None]("room_fault", None)  # why none could be
SEEN = Slot[tuple[str, str, Lead | None]]("lead_seen", ("", "", None))


def is_wall() -> bool:
    return bool(link.value("wall") and link.value("room"))


def is_leader() -> bool:
    """Whether this reader leads the class whose wall it is: the link holds the leader's word."""
    if not is_wall():
        return False
    with suppress(ConfigError):
        return machine.rooms().is_led_by(link.value("room"), link.value("seat"))
    return False


def reads_notes() -> bool:
    """Whether this is the leader's second device, which shows notes and ways on."""
    return bool(link.value("notes")) and is_leader()


def new_word() -> str:
    return secrets.token_hex(12)


def look(lesson: str) -> Lead | None:
    """What the leader of this learner's class shows now; None where nobody leads this lesson."""
    code, found = link.value("room"), None
    if code and not is_wall():
        with suppress(ConfigError):
            found = machine.rooms().lead(code)
    found = found if found and found.lesson == lesson else None
    SEEN.keep((code, lesson, found))
    return found


def seen(lesson: str) -> Lead | None:
    """The same as it was last seen: all of a page says the same."""
    code, of, found = SEEN.get()
    if (code, of) == (link.value("room"), lesson) and not is_wall():
        return found
    return look(lesson)


def holds(lesson: str, step: int) -> bool:
    found = seen(lesson)
    return found is not None and found.holds(step)


def is_following() -> bool:
    return bool(link.value("follow"))
