"""A lesson on a projector: the text of a step with its question, its answer, its panel."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from blocks.observe.run import Run
from pages.lessons import card, question, wall
from pages.stage import lecture, led, present, progress
from pages.stage.progress import Now
from pages.words.language import _, say_fault


def draw(now: Now, run: Run | None, panel: Callable[[], None]) -> None:
    """One screen, and the keys that lead to the next; of a class, what stands on its wall."""
    n, whole = now.i + 1, len(now.lesson.steps)
    said = _("step {n} of {all}").format(n=n, all=whole)
    title = wall.shown_address() if led.is_wall() else now.step.title
    present.note_panels((), "", title, f"{now.lesson.title} · {said}")
    is_on_panel = wall.is_on_panel(now)
    look: dict[str, Any] = {"horizontal_alignment": "right", "vertical_alignment": "center"}
    with st.container(horizontal=True, **look, key="wall_head"):
        if led.is_wall() and not is_on_panel:
            asked = now.step.ask.question if now.step.ask else now.step.title
            st.markdown(f"## {asked}", width="stretch")
        with st.container(horizontal=True, width="content", key="wall_keys"):
            _keys(now, run, is_on_panel=is_on_panel)
    if fault := progress.FAULT.take():
        st.warning(say_fault(fault))
    if led.is_wall():
        wall.note_step(now)
    if is_on_panel:
        panel()
        wall.follow(now)
    elif led.is_wall():
        wall.present_it(now, run)
    else:
        _text(now, run)


def _keys(now: Now, run: Run | None, *, is_on_panel: bool) -> None:
    """Through a step: its question, its answer, its panel; in a lecture, then to what is next."""
    is_of_lecture = bool(lecture.place())
    if is_on_panel:
        wall.way_to_panel(now, _("Back"), "arrow_back", shortcut=present.BACK)
    elif is_of_lecture:
        present.lead(-1)
    else:
        wall.way_back(now)
    if wall.has_panel(now) and not is_on_panel:
        look: dict[str, Any] = {"type": "primary", "shortcut": present.ON}
        wall.way_to_panel(now, _("Continue"), "arrow_forward", **look)
    elif is_of_lecture and now.is_through:
        present.lead(1)
    elif not now.is_held:
        wall.way_on(now, run)


def _text(now: Now, run: Run | None) -> None:
    """What is read and asked; once it is answered, what came of it."""
    ask = now.step.ask
    if ask and run is not None and now.answer:
        card.asked(now, ask, run)
        return
    st.markdown(now.step.before)
    if ask and run is not None:
        st.markdown(f"### {ask.question}")
        question.shown_large(ask, run)
    elif now.step.task:
        st.info(now.step.task)
