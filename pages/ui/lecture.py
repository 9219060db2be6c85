"""A lecture of one's own: panels as they were set, in an order, turned by a remote control.

It stays with the session, and in a file of the format of lessons.
"""

from collections.abc import Mapping

import streamlit as st

from blocks import ConfigError
from blocks.lessons import reading, writing
from blocks.lessons.lesson import Step
from pages.ui import link
from pages.ui.address import page_here
from pages.ui.language import _, current_language, say_fault

STEPS, AT, GO = "lecture", "lecture_at", "lecture_go"  # in the session
NOT_OF_A_STEP = ("lang", "panel", "present", "room", "wall", "seat")


def steps() -> tuple[Step, ...]:
    """What was added so far."""
    found: tuple[Step, ...] = st.session_state.get(STEPS, ())
    return found


def _add(step: Step) -> None:
    st.session_state[STEPS] = (*steps(), step)


def place() -> str:
    """Which of how many stands there, where a lecture is given; else nothing."""
    at = st.session_state.get(AT)
    return "" if at is None else f"{at + 1}/{len(steps())}"


def begin(at: int = 0) -> None:
    """Open a step when the page is drawn next; a callback."""
    st.session_state[AT] = st.session_state[GO] = at
    link.redraw_everything()


def turn(by: int) -> bool:
    """On or back, if a lecture is given; at its ends it stays."""
    at = st.session_state.get(AT)
    if at is not None and 0 <= at + by < len(steps()):
        begin(at + by)
    return at is not None


def end() -> None:
    """It is given no more."""
    st.session_state.pop(AT, None)


def begin_page() -> None:
    """Before a page reads its link: go to the step that is to be opened."""
    if (at := st.session_state.pop(GO, None)) is None or at >= len(steps()):
        return
    step = steps()[at]
    query = {**dict(step.set), "panel": step.show, "present": "true"}
    if lang := link.as_query().get("lang"):
        query["lang"] = lang
    st.switch_page(f"pages/{step.page}.py", query_params=query)


def draw(title: str, show: str, query: Mapping[str, str]) -> None:
    """The way to add this panel; what was added, in its order; the file, and the way to begin."""
    state = tuple((name, text) for name, text in query.items() if name not in NOT_OF_A_STEP)
    here = Step(title=title, page=page_here(), before="", set=state, show=show)
    st.button(
        _("Add to my lecture"),
        icon=":material/playlist_add:",
        on_click=_add,
        args=(here,),
        disabled=len(steps()) >= reading.MOST_STEPS,
        key="add_to_lecture",
    )
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
    file = st.file_uploader(_("Open a saved lecture"), ("md",), max_upload_size=1, key="lecture_md")
    if file is not None:
        st.button(
            _("Take this file as my lecture"), on_click=_open, args=(file.getvalue(),), key="take"
        )
    if fault := st.session_state.pop("lecture_fault", None):
        st.error(say_fault(fault), icon=":material/block:")


def _row(i: int, step: Step) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key=f"lecture_{i}"):
        st.markdown(f"{i + 1} · {step.title}", width="stretch")
        _move(":material/arrow_upward:", _("Earlier"), i, i - 1, f"lecture_up_{i}")
        _move(":material/close:", _("Remove"), i, None, f"lecture_drop_{i}")


def _move(icon: str, told: str, i: int, to: int | None, key: str) -> None:
    is_first = to is not None and to < 0
    args = (i, to)
    st.button(
        icon, help=told, type="tertiary", on_click=_put, args=args, disabled=is_first, key=key
    )


def _put(i: int, to: int | None) -> None:
    """Take a step away, or put it elsewhere."""
    rest = [*steps()]
    step = rest.pop(i)
    if to is not None:
        rest.insert(to, step)
    st.session_state[STEPS] = tuple(rest)


def _open(content: bytes) -> None:
    """Take the steps of a file, which may be any lesson; a callback."""
    try:
        text = content.decode("utf-8-sig", errors="replace")
        found = reading.read(text, id=STEPS, language=current_language())
    except ConfigError as error:
        st.session_state["lecture_fault"] = error.faults[0]
        return
    st.session_state[STEPS] = found.steps
