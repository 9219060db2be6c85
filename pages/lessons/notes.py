"""The leader's second device: the notes of a step, who has guessed what, and the ways on."""

from contextlib import suppress

import streamlit as st

from blocks import ConfigError
from blocks.lessons.answers import Answer
from blocks.lessons.lesson import AskKind
from blocks.observe.run import Run
from pages.figures import guess as guess_picture
from pages.figures.guess import Guessed
from pages.lessons import verdict, wall
from pages.show.chart import show_now
from pages.stage import progress
from pages.stage.progress import Now
from pages.words.language import _, say_fault


def draw(now: Now, run: Run | None) -> None:
    """The ways on stand above all that is read: a thumb finds them without looking."""
    wall.note_step(now)
    n, whole = now.i + 1, len(now.lesson.steps)
    said = _("step {n} of {all}").format(n=n, all=whole)
    st.caption(f"{now.lesson.title} · {said}")
    with st.container(horizontal=True, key="notes_keys"):
        wall.keys(now, run)
    if fault := progress.FAULT.take():
        st.warning(say_fault(fault))
    with st.container(key="notes"):
        st.markdown(f"##### {now.step.title}")
        st.markdown(now.step.before)
        if now.step.ask:
            st.markdown(f"**{now.step.ask.question}**")
            _answer(now, run)
        for each in filter(None, (now.step.after, now.step.task)):
            st.markdown(each)
        if not now.is_last:
            text = _("Next: {title}").format(title=now.lesson.steps[now.i + 1].title)
            st.caption(text)
    wall.live(now, run)


def _answer(now: Now, run: Run | None) -> None:
    """The answer, before the class sees it."""
    if (ask := now.step.ask) is None or run is None:
        return
    with suppress(ConfigError):
        rows, labels = progress.labels(ask, run)
        found = Guessed(ask, Answer((), progress.truth(ask, run)), labels, rows)
        if ask.kind is AskKind.CURVE:
            show_now(guess_picture.picture(found, _=_), key="notes_picture")
        else:
            st.markdown(verdict.said(found))
