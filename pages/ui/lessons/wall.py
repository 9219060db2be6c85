"""A class that guesses together: a room with a code, and the wall on which all guesses stand."""

import secrets
from urllib.parse import parse_qsl, urlencode, urljoin

import streamlit as st

from blocks import ConfigError
from blocks.lessons import answers
from blocks.lessons.answers import Values
from blocks.lessons.lesson import Lesson
from blocks.lessons.rooms import MOST_LEARNERS, Room
from blocks.observe.run import Run
from pages.figures import class_guesses
from pages.figures.class_guesses import ClassGuesses
from pages.ui import address, hidden, link, machine, share
from pages.ui.chart import show_now
from pages.ui.language import _, ngettext, say_fault
from pages.ui.lessons import progress
from pages.ui.lessons.progress import Now

EVERY = 1.5  # seconds between two looks at what was guessed


def is_on() -> bool:
    """Whether this reader leads a class."""
    return bool(link.value("wall") and link.value("room"))


def open_room() -> None:
    """Begin a class on the lesson that is open; a callback."""
    found = progress.now()
    if found is None:
        return
    shared = urlencode(progress.way_in(found.lesson)[1], errors="replace")
    try:
        mine = st.session_state.setdefault("my_rooms", [])
        code = machine.rooms().open(found.lesson.id, shared, mine)
        mine.append(code)
    except ConfigError as error:
        st.session_state["room_fault"] = error.faults[0]
        return
    link.change("room", code)
    link.change("wall", True)
    link.redraw_everything()


def guessed(now: Now, guess: Values) -> None:
    """Bring a learner's guess to the wall of a class on this lesson; its leader guesses nothing.

    Raises `ConfigError` where the room is full.
    """
    code = link.value("room")
    if not code or is_on() or not guess or machine.rooms().lesson_of(code) != now.lesson.id:
        return
    machine.rooms().guess(code, _seat(code), now.i, guess)


def _seat(code: str) -> str:
    """The one place of this session in a room. After a reload it is that of the link.

    The link may say anything, so only a place counts that somebody has guessed from.
    """
    seats, said = st.session_state.setdefault("seats", {}), link.value("seat")
    if code not in seats:
        is_known = bool(said) and machine.rooms().has_seat(code, said)
        seats[code] = said if is_known else secrets.token_hex(6)
    if seats[code] != said:
        link.change("seat", seats[code])
    return str(seats[code])


def draw(now: Now, run: Run | None) -> None:
    """The wall of the open step, live; nothing for a learner."""
    if not is_on():
        return
    with st.container(border=True, key="wall"):
        _head(now)
        st.fragment(_live, run_every=EVERY)(now, run)


def _head(now: Now) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="wall_head"):
        st.markdown(f"### {_called()}", width="stretch")
        if st.button(_("Join"), icon=":material/qr_code:", key="join"):
            st.dialog(_("Join"))(_join)(now)


def _called() -> str:
    return _("Room {code}").format(code=link.value("room"))


def _join(now: Now) -> None:
    """The link and the code for those who take part."""
    whole = link_to_join(now)
    st.markdown(f"# {_called()}")  # the dialog covers where the wall says it
    st.caption(_("Join with the code (Home → Take a lesson → Join a class) or with this link:"))
    st.code(whole, language=None, wrap_lines=True)
    if reach := share.REACH[address.of_this_page().reach]:
        st.caption(_(reach))
    st.image(share.qr_code(whole), width=share.SIDE, alt=_("QR code of the link above"))


def link_to_join(now: Now) -> str:
    """What learners open: the first step, in this room."""
    path, query = _way_in(now.lesson, link.value("room"))
    query |= hidden.query_for_others()
    page = path.rpartition("/")[2].removesuffix(".py")
    return f"{urljoin(address.of_this_page().text, page)}?{urlencode(query)}"


def _way_in(lesson: Lesson, code: str) -> tuple[str, dict[str, str]]:
    """The first step in a room, with what its leader had set; the learner's own language."""
    path, query = progress.way_in(lesson)
    led = dict(parse_qsl(machine.rooms().link_of(code)))
    spoken = {name: query[name] for name in ("lang",) if name in query}
    return path, {**query, **led, **spoken, "room": code}


def _live(now: Now, run: Run | None) -> None:
    """How many guessed what, as it comes in."""
    try:
        room = machine.rooms().room(link.value("room"))
    except ConfigError as error:
        st.warning(say_fault(error.faults[0]))
        return
    st.caption(_how_far(now, room))
    if ask := now.step.ask:
        rows, labels = progress.labels(ask, run) if run else ((), ())
        truth = now.answer.truth if now.answer else ()
        sides = answers.sides(ask, truth) if truth else (max(1, len(rows)), max(1, len(labels)))
        fitting = tuple(g for g in room.of(now.i) if g and answers.fits(ask, g, sides))
        found = ClassGuesses(ask, fitting, truth, labels, rows)
        show_now(class_guesses.picture(found, _=_), key="wall_picture")


def _how_far(now: Now, room: Room) -> str:
    n = room.n_learners
    said = ngettext("{n} learner", "{n} learners", n).format(n=n)
    steps = [
        _("step {i}: {n}").format(i=i + 1, n=len(room.of(i)))
        for i, step in enumerate(now.lesson.steps)
        if step.ask
    ]
    return f"{said} · {' · '.join(steps)}"


def way_to_join() -> None:
    """Where a code is typed; it leads to the lesson of the room."""
    code = st.text_input(
        _("Room code"),
        max_chars=6,
        key="room_code",
        help=_("Six letters and digits, shown by your teacher."),
    )
    typed = code.strip().upper()
    if not typed:
        return
    try:
        name = machine.rooms().lesson_of(typed)
    except ConfigError as error:
        st.warning(say_fault(error.faults[0]))
        return
    found = progress.lesson(name) if name else None
    if found is None:
        st.warning(_("No open room has this code. Rooms last a day."))
        return
    path, query = _way_in(found, typed)
    label = _("Join: {title}").format(title=found.title)
    st.page_link(path, label=label, icon=":material/login:", query_params=query)


def way_to_open() -> None:
    """The button that opens a room, where a lesson is open and none is."""
    if fault := st.session_state.pop("room_fault", None):
        st.warning(say_fault(fault))
    if link.value("room") or link.value("lesson") == progress.BROUGHT:
        return
    label, icon = _("Open a room for a class"), ":material/groups:"
    with st.popover(label, icon=icon, type="tertiary", key="for_a_class"):
        text = _(
            "Learners join anonymously with a code; their guesses appear on your screen. A "
            "room holds up to {n} learners and ends after a day."
        )
        st.markdown(text.format(n=MOST_LEARNERS))
        st.button(_("Open it"), on_click=open_room, key="open_room")
