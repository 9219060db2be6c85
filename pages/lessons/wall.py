"""A class that guesses together: a room with a code, and the wall on which all guesses stand."""

import secrets
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from blocks import ConfigError
from blocks.lessons import answers
from blocks.lessons.answers import Answer, Values
from blocks.lessons.rooms import MOST_LEARNERS, Room
from blocks.observe.run import Run
from pages.figures import class_guesses
from pages.figures.class_guesses import ClassGuesses
from pages.figures.guess import Guessed
from pages.lessons import following, joining, question, sheet, verdict
from pages.server import address, machine
from pages.session.slot import Slot, shown_by
from pages.show import share
from pages.show.chart import show_now
from pages.stage import hidden, led, link, present, progress
from pages.stage.progress import Now
from pages.words.chips import literally
from pages.words.language import _, ngettext, say_fault

EVERY = 1.5  # seconds between two looks at what was guessed
FOR_LATECOMERS = 240  # pixels of the code for a camera, beside what is asked
SEATS = Slot[Mapping[str, str]]("seats", {})  # of this session, by room
LED_AT = Slot[tuple[str, int] | None]("led_at", None)  # room and step of its leader
ON_PANEL = Slot[tuple[str, int] | None]("on_panel", None)  # the step whose panel is presented


def open_room() -> None:
    """Begin a class on the lesson that is open; a callback."""
    found = progress.now()
    if found is None:
        return
    query = progress.way_in(found.lesson)[1] | hidden.query_for_others()
    word = led.new_word()
    try:
        mine = led.MY_ROOMS.get()
        shared = urlencode(query, errors="replace")
        code = machine.rooms().open(found.lesson.id, shared, mine, leader=word)
        led.MY_ROOMS.keep((*mine, code))
    except ConfigError as error:
        led.ROOM_FAULT.keep(error.faults[0])
        return
    for name, value in (("room", code), ("wall", True), ("seat", word)):
        link.change(name, value)
    link.redraw_everything()


def guessed(now: Now, guess: Values) -> None:
    """Bring a learner's guess to the wall of a class on this lesson; its leader guesses nothing.

    One that comes after the answer was shown counts for nothing. Raises `ConfigError` where the
    room is full.
    """
    code = link.value("room")
    if not code or led.is_wall() or not guess or machine.rooms().lesson_of(code) != now.lesson.id:
        return
    found = led.look(now.lesson.id)
    if found is None or found.holds(now.i) or not found.is_held:
        machine.rooms().guess(code, _seat(code), now.i, guess)


def _join(now: Now) -> None:
    """Take a place in the room of this lesson, once; who finds it full hears so with a guess."""
    code = link.value("room")
    if not code or code in SEATS.get() or machine.rooms().lesson_of(code) != now.lesson.id:
        return
    with suppress(ConfigError):
        machine.rooms().join(code, _seat(code))


def _seat(code: str) -> str:
    """The one place of this session in a room. After a reload it is that of the link.

    The link may say anything, so only a place counts that somebody has taken.
    """
    seats, said = SEATS.get(), link.value("seat")
    if code not in seats:
        is_known = bool(said) and machine.rooms().has_seat(code, said)
        seats = {**seats, code: said if is_known else secrets.token_hex(6)}
        SEATS.keep(seats)
    if seats[code] != said:
        link.change("seat", seats[code])
    return seats[code]


def draw(now: Now, run: Run | None) -> None:
    """The wall of the open step, live; a learner has nothing but a place in the room."""
    if not led.is_wall():
        _join(now)
        return
    note_step(now)
    with st.container(border=True, key="wall"):
        st.markdown(f"## {shown_address()}")
        with st.container(horizontal=True, vertical_alignment="center", key="wall_head"):
            _tools(now, run)
        live(now, run)


def present_it(now: Now, run: Run | None) -> None:
    """The wall alone, for the back row: what is asked, how many answered; in the end, why.

    That stands beside the picture, so that both are whole on one screen.
    """
    ask = now.step.ask
    if ask and run and now.is_through:
        picture, why = st.columns([4, 3], gap="medium")
        with picture:
            live(now, run)
        with why:
            if not now.step.task:
                question.given(now.step.so_far, run)
            st.markdown(now.step.after)
        return
    if ask and run:
        with st.container(horizontal=True, key="wall_asks"):
            with st.container():
                question.shown_large(ask, run)
                live(now, run)
            joining.code_for_a_camera(link.value("room"), width=FOR_LATECOMERS)
    else:
        live(now, run)
    st.markdown(now.step.before)


def live(now: Now, run: Run | None) -> None:
    """How many guessed what, as it comes in; and what another device of the leader does."""
    st.fragment(_live, run_every=EVERY)(now, run)


def follow(now: Now) -> None:
    """Do what another device of the leader does, while the panel of a step is presented."""
    if led.is_leader():
        st.fragment(_follow, run_every=EVERY)(now)


def _follow(now: Now) -> None:
    with suppress(ConfigError):
        _keep_up(now)


def keys(now: Now, run: Run | None) -> None:
    """On a second device, which turns what the first one presents."""
    way_back(now)
    if has_panel(now):
        label = _("Present the text") if is_on_panel(now) else _("Present the panel")
        way_to_panel(now, label, "slideshow")
    way_on(now, run)


def has_panel(now: Now) -> bool:
    return bool(now.step.show) and now.is_through


def is_on_panel(now: Now) -> bool:
    """Whether the panel of this step is presented, not its text."""
    return has_panel(now) and ON_PANEL.get() == (now.lesson.id, now.i)


def way_to_panel(now: Now, label: str, icon: str, **look: Any) -> None:
    """To the panel of this step, or from it back to its text."""
    to = None if is_on_panel(now) else (now.lesson.id, now.i)
    icon = f":material/{icon}:"
    st.button(label, icon=icon, on_click=_turn, args=(to,), key="lesson_panel", **look)


def _turn(to: tuple[str, int] | None) -> None:
    ON_PANEL.keep(to)
    with suppress(ConfigError):
        machine.rooms().turn(link.value("room"), link.value("seat"), to[1] if to else None)


def way_back(now: Now) -> None:
    """To the step before, where there is one."""
    if now.i:
        st.button(
            _("Back"),
            icon=":material/arrow_back:",
            on_click=following.to,
            args=(now.i - 1,),
            shortcut=present.BACK,
            key="wall_back",
        )


def way_on(now: Now, run: Run | None) -> None:
    """First to the answer, then to the next step."""
    if not now.is_through and run:
        way_to_show(run, shortcut=present.ON)
    elif not now.is_last:
        st.button(
            _("Next step"),
            icon=":material/arrow_forward:",
            type="primary",
            on_click=following.to,
            args=(now.i + 1,),
            shortcut=present.ON,
            key="wall_on",
        )


def shown_address() -> str:
    """As it is typed."""
    return literally(joining.typed(joining.address_of(link.value("room"))))


def _tools(now: Now, run: Run | None) -> None:
    code = link.value("room")
    called = _("Room {code}").format(code=code)
    st.markdown(f"**{called}**", width="content")
    if st.button(_("Join"), icon=":material/qr_code:", key="join"):
        st.dialog(called)(joining.show)(code)
    sheet.offer(now, run)
    if led.is_leader() and (found := machine.rooms().lead(code)):
        label, help_ = _("I reveal the answers"), _("Learners see an answer only when you show it.")
        st.toggle(label, value=found.is_held, on_change=_hold, help=help_, key="hold_answers")
        _second_device(code)
    if address.of_this_page().reach == "machine":
        st.caption(_(share.REACH["machine"]))


def _hold() -> None:
    with suppress(ConfigError):
        code, word = link.value("room"), link.value("seat")
        machine.rooms().hold(code, word, is_held=shown_by("hold_answers"))


def _second_device(code: str) -> None:
    """A way for the leader's phone, which this screen alone shows."""
    label, title = _("Notes on my phone"), _("Lead from a second device")
    if st.button(label, icon=":material/phone_iphone:", type="tertiary", key="second_device"):
        word = machine.rooms().pass_for(code, link.value("seat"))
        st.dialog(title)(joining.show_to_lead)(code, word)


def note_step(now: Now) -> None:
    """Tell those who follow which step is open.

    Not what a session opens first: a phone that slept would lead a class back to where it was.
    """
    here = (link.value("room"), now.i)
    before = LED_AT.get() or here
    with suppress(ConfigError):
        if before[0] == here[0] and before != here:
            machine.rooms().go_to(here[0], link.value("seat"), now.i)
        LED_AT.keep(here)


def _keep_up(now: Now) -> None:
    """Go where another device of the leader has gone, and show what it has shown."""
    code = link.value("room")
    found = machine.rooms().lead(code) if led.is_leader() else None
    if found is None or not found.step < len(now.lesson.steps):
        return
    panel = None if found.panel is None else (now.lesson.id, found.panel)
    if LED_AT.get() != (code, found.step):
        LED_AT.keep((code, found.step))
        following.to(found.step)
    elif ON_PANEL.get() != panel:
        ON_PANEL.keep(panel)
    elif now.step.ask and now.guess is None and now.i in found.shown:
        link.change("guesses", answers.written({**now.guesses, now.i: ()}))
    else:
        return
    st.rerun(scope="app")


def way_to_show(run: Run, **more: Any) -> None:
    """The button that shows the answer, to those who wait for it too."""
    label = _("Show the answer")
    st.button(label, type="primary", on_click=_show, args=(run,), key="without_guess", **more)


def _show(run: Run) -> None:
    found = progress.now()
    if found is None:
        return
    try:
        progress.answer(run, ())
        machine.rooms().show(link.value("room"), link.value("seat"), found.i)
        link.redraw_everything()
    except ConfigError as error:
        progress.FAULT.keep(error.faults[0])


def _live(now: Now, run: Run | None) -> None:
    try:
        _keep_up(now)
        room = machine.rooms().room(link.value("room"))
    except ConfigError as error:
        st.warning(say_fault(error.faults[0]))
        return
    is_kept_back = _is_kept_back(now) and not led.reads_notes()
    waits = _("The guesses appear here together with the answer.") if is_kept_back else ""
    st.markdown(" ".join(filter(None, (f"**{_counted(now, room)}**", waits))))
    if is_kept_back:
        return
    if ask := now.step.ask:
        rows, labels = progress.labels(ask, run) if run else ((), ())
        truth = now.answer.truth if now.answer else ()
        sides = answers.sides(ask, truth) if truth else (max(1, len(rows)), max(1, len(labels)))
        fitting = tuple(g for g in room.of(now.i) if g and answers.fits(ask, g, sides))
        if truth and not fitting and ask.kind not in progress.IN_A_PICTURE:
            st.markdown(verdict.said(Guessed(ask, Answer((), truth), labels, rows)))
            return
        found = ClassGuesses(ask, fitting, truth, labels, rows)
        show_now(class_guesses.picture(found, _=_), key="wall_picture", is_large=True)


def _is_kept_back(now: Now) -> bool:
    """Whether guesses wait for the answer, as learners do: nobody follows those before."""
    with suppress(ConfigError):
        found = machine.rooms().lead(link.value("room"))
        return bool(now.step.ask) and found is not None and found.holds(now.i)
    return False


def _counted(now: Now, room: Room) -> str:
    """How many have guessed here, and how many have joined."""
    n = room.n_learners
    said = ngettext("{n} learner", "{n} learners", n).format(n=n)
    if not now.step.ask:
        return said
    n = len(room.of(now.i))
    here = ngettext("{n} guess", "{n} guesses", n).format(n=n)
    return f"{here} · {said}"


def way_to_open() -> None:
    """The button that opens a room, where a lesson is open and none is."""
    if fault := led.ROOM_FAULT.take():
        st.warning(say_fault(fault))
    if link.value("room") or link.value("lesson") == progress.BROUGHT:
        return
    label, icon = _("Open a room for a class"), ":material/groups:"
    with st.popover(label, icon=icon, type="tertiary", key="for_a_class"):
        text = _(
            "Learners join anonymously with a code; their guesses appear on your screen, and "
            "they see an answer when you show it. A room holds up to {n} learners and ends "
            "after a day."
        )
        st.markdown(text.format(n=MOST_LEARNERS))
        st.button(_("Open it"), on_click=open_room, key="open_room")
