"""A lesson on a projector: the text of a step with its question, its answer, its panel."""

from collections.abc import Callable

import streamlit as st

from blocks.lessons.lesson import Ask
from blocks.observe.run import Run
from pages.lessons import card, wall
from pages.session.slot import Slot
from pages.stage import present, progress
from pages.stage.progress import Now
from pages.words.language import _, say_fault

ON_PANEL = Slot[tuple[str, int] | None]("on_panel", None)  # of this step


def draw(now: Now, run: Run | None, panel: Callable[[], None]) -> None:
    """One screen, and the keys that lead to the next."""
    n, whole = now.i + 1, len(now.lesson.steps)
    said = _("step {n} of {all}").format(n=n, all=whole)
    present.note_panels((), "", now.step.title, f"{now.lesson.title} · {said}")
    has_panel = bool(now.step.show) and now.is_through
    is_on_panel = has_panel and ON_PANEL.get() == (now.lesson.id, now.i)
    with st.container(horizontal=True, horizontal_alignment="right", key="wall_keys"):
        if is_on_panel:
            _turn(_("Back"), "arrow_back", present.BACK, None)
        else:
            wall.way_back(now)
        if has_panel and not is_on_panel:
            _turn(_("Continue"), "arrow_forward", present.ON, (now.lesson.id, now.i))
        elif not now.is_held:
            wall.way_on(now, run)
    if is_on_panel:
        panel()
    else:
        _text(now, run)


def _turn(label: str, icon: str, shortcut: str, to: tuple[str, int] | None) -> None:
    """To the panel of this step, or from it back to its text."""
    st.button(
        label,
        icon=f":material/{icon}:",
        type="primary" if to else "secondary",
        on_click=ON_PANEL.keep,
        args=(to,),
        shortcut=shortcut,
        key="lesson_panel",
    )


def _text(now: Now, run: Run | None) -> None:
    """What is read and asked; once it is answered, what came of it."""
    if fault := progress.FAULT.take():
        st.warning(say_fault(fault))
    ask = now.step.ask
    if ask and run is not None and now.answer:
        card.asked(now, ask, run)
        return
    st.markdown(now.step.before)
    if ask:
        st.markdown(f"**{ask.question}**")
        st.markdown(_options(ask))
    elif now.step.task:
        st.info(now.step.task)


def _options(ask: Ask) -> str:
    found = [option.label for option in ask.options] or [*ask.labels]
    return "\n".join(f"- {label}" for label in found)
