"""A lecture of one's own: panels as they were set, in an order, turned by a remote control.

It stays in the link, as far as that holds it, else with the session; and in a file of the format
of lessons.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from blocks import ConfigError, Fault
from blocks.lessons import reading, writing
from blocks.lessons.lesson import Step
from pages.server import address
from pages.server.address import page_here
from pages.session.slot import Slot, shown_by
from pages.stage import link, progress
from pages.stage.press import press
from pages.state.fields import OF_PAGES
from pages.words.language import _, current_language, say_fault

STEPS, AT, LEAD = "lecture", "lecture_at", "lecture_lead"  # of the link
ADDED = Slot[tuple[Step, ...]](STEPS, ())
GO = Slot[int | None]("lecture_go", None)  # the step to open
FAULT = Slot[Fault | None]("lecture_fault", None)
COLLECTED = Slot[tuple[Any, ...] | None]("lecture_collected", None)  # for a handout, so far
NOT_OF_A_STEP = (
    *("lang", "panel", "present", "room", "wall", "notes", "seat", "guesses"),
    *(STEPS, AT, LEAD),
)


def steps() -> tuple[Step, ...]:
    """What was added so far; those of a page that there is not are left out."""
    return ADDED.get()


def _keep(new: tuple[Step, ...]) -> None:
    ADDED.keep(new)
    link.change(STEPS, writing.packed(new) if new else "")


def carry() -> None:
    """After a page has read its link: a lecture that it names is the reader's from now on.

    A link that names none, as those of the course map, takes the reader's own along.
    """
    if carried := link.value(STEPS):
        found = writing.unpacked(carried)
        known = (step for step in found if step.page in OF_PAGES and step.page != link.HOME_PAGE)
        ADDED.keep(tuple(known))
    elif steps() and (own := writing.packed(steps())):
        link.VALUES.keep({**link.state(), STEPS: own})


def _add(step: Step) -> None:
    _keep((*steps(), step))


def place() -> str:
    """Which of how many stands there, where a lecture is given; else nothing."""
    at = link.value(AT)
    return "" if at is None or not steps() else f"{at + 1}/{len(steps())}"


def begin(at: int = 0) -> None:
    """Open a step when the page is drawn next, or only its notes; a callback."""
    if link.value("notes"):
        link.change(AT, at)
    else:
        GO.keep(at)
    link.redraw_everything()


def leads(by: int) -> bool:
    """Whether a lecture is given that has a panel so many on."""
    at = link.value(AT)
    return at is not None and 0 <= at + by < len(steps())


def turn(by: int) -> bool:
    """On or back, if a lecture is given; at its ends it stays."""
    if leads(by):
        begin(link.value(AT) + by)
    return bool(place())


def end() -> None:
    link.change(AT, None)


def collect() -> None:
    """Go through all steps, to collect what they show; a callback."""
    COLLECTED.keep(())
    begin()


def is_collected() -> bool:
    """Whether the step that stands there is the next to be collected."""
    return COLLECTED.get() is not None and leads(0) and link.value(AT) == len(COLLECTED.get() or ())


def begin_page() -> None:
    """Before a page reads its link: go to the step that is to be opened."""
    if (at := GO.take()) is not None and at < len(steps()):
        link.TOUCHED.keep(False)  # what the step says goes before what was moved
        st.switch_page(f"pages/{steps()[at].page}.py", query_params=_query(at))


def _query(at: int) -> dict[str, str]:
    step, known = steps()[at], link.as_query()
    kept = {name: known[name] for name in ("lang", STEPS, LEAD) if name in known}
    shown = {"present": "true"} if COLLECTED.get() is None else {}
    return {**dict(step.set), "panel": step.show, **shown, **kept, AT: str(at)}


def draw(title: str, show: str, query: Mapping[str, str]) -> None:
    """The way to add this panel; what was added, in its order; the file, and the way to begin."""
    state = tuple((name, text) for name, text in query.items() if name not in NOT_OF_A_STEP)
    if lesson := progress.now():
        title = f"{lesson.lesson.title} · {lesson.step.title}"
    here = Step(title=title, page=page_here(), before="", set=state, show=show)
    press(
        _("Add to my lecture"),
        "add_to_lecture",
        _add,
        here,
        icon="playlist_add",
        disabled=len(steps()) >= reading.MOST_STEPS,
    )
    st.caption(_("It is kept as it is now, with its settings, its text and the step that is open."))
    for i, step in enumerate(steps()):
        _row(i, step)
    if steps():
        with st.container(horizontal=True):
            label = _("Present my lecture")
            st.button(label, icon=":material/slideshow:", on_click=begin, key="begin_lecture")
            st.download_button(
                _("Save my lecture"),
                writing.written(_("My lecture"), steps()),
                "lecture.md",
                icon=":material/download:",
                key="save_lecture",
            )
            label, icon = _("Make a handout"), ":material/description:"
            told = _(
                "Puts all panels into one file that opens offline; each panel is opened once while "
                "the file is made."
            )
            st.button(label, icon=icon, help=told, on_click=collect, key="lecture_handout")
        _whole_link()
    file = st.file_uploader(_("Open a saved lecture"), ("md",), max_upload_size=1, key="lecture_md")
    if file is not None:
        press(_("Use this file as my lecture"), "take", _open, file.getvalue())
    if fault := FAULT.take():
        st.error(say_fault(fault), icon=":material/block:")


def whole_link() -> str:
    """The lecture as an address, without notes; nothing where it is too long."""
    carried = writing.packed([replace(step, before="") for step in steps()])
    root = address.of_this_page().text.rpartition("/")[0]
    query = {name: text for name, text in _query(0).items() if name != LEAD} | {STEPS: carried}
    return f"{root}/{steps()[0].page}?{urlencode(query)}" if carried else ""


def _whole_link() -> None:
    if whole := whole_link():
        st.caption(
            _(
                "This link to your lecture, without your notes, opens its first panel in "
                "presentation mode:"
            )
        )
        st.code(whole, language=None, wrap_lines=True)
    else:
        st.caption(_("This lecture is too long for a link: save it as a file."))


def _row(i: int, step: Step) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key=f"lecture_{i}"):
        st.markdown(f"{i + 1} · {step.title}", width="stretch")
        icon = ":material/speaker_notes:" if step.before else ":material/edit_note:"
        with st.popover("", icon=icon, help=_("Notes"), type="tertiary", key=f"lecture_note_{i}"):
            st.text_area(
                _("Notes for this panel"),
                step.before,
                help=_(
                    "Your notes are kept in your own address bar and in the file that you "
                    "save; no link offered here contains them."
                ),
                max_chars=reading.MOST_CHARACTERS,
                on_change=_note,
                args=(i,),
                key=f"lecture_says_{i}",
            )
        _move(":material/arrow_upward:", _("Earlier"), i, i - 1, f"lecture_up_{i}")
        _move(":material/arrow_downward:", _("Later"), i, i + 1, f"lecture_down_{i}")
        _move(":material/close:", _("Remove"), i, None, f"lecture_drop_{i}")


def _move(icon: str, told: str, i: int, to: int | None, key: str) -> None:
    is_at_end = to is not None and not 0 <= to < len(steps())
    args = (i, to)
    st.button(
        icon, help=told, type="tertiary", on_click=_put, args=args, disabled=is_at_end, key=key
    )


def _put(i: int, to: int | None) -> None:
    """Take a step away, or put it elsewhere."""
    rest = [*steps()]
    step = rest.pop(i)
    if to is not None:
        rest.insert(to, step)
    _keep(tuple(rest))


def _note(i: int) -> None:
    """Keep what is to be said at a step, if the file can hold it; a callback."""
    rest = [*steps()]
    rest[i] = replace(rest[i], before=shown_by(f"lecture_says_{i}").strip())
    _take(writing.written(_("My lecture"), rest))


def _open(content: bytes) -> None:
    """Take the steps of a file, which may be any lesson; a callback."""
    _take(content.decode("utf-8-sig", errors="replace"))


def _take(text: str) -> None:
    try:
        _keep(reading.read(text, id=STEPS, language=current_language()).steps)
    except ConfigError as error:
        FAULT.keep(error.faults[0])
