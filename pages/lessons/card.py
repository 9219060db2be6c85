"""The card of a lesson: what is read, what is asked, what came of the guess, what to try."""

from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from blocks import ConfigError
from blocks.lessons.answers import is_right
from blocks.lessons.lesson import Ask, AskKind, Lesson
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures import guess as guess_picture
from pages.figures.guess import Guessed
from pages.lessons import following, guessing, handed_in, question, set_back, sheet, verdict, wall
from pages.server.address import page_here
from pages.show.chart import show
from pages.show.phone import at_hand, folded
from pages.show.tables import show_whole
from pages.stage import link, present, progress
from pages.stage.phone import is_phone
from pages.stage.progress import Now
from pages.words import glossary
from pages.words.language import _, say_fault, sentences

WAITING = N_("You will see the answer when the teacher shows it.")


def draw(now: Now, run: Run | None, place: DeltaGenerator) -> None:
    """The open step of a lesson, where it takes place; elsewhere the way there.

    `place`: where the task stands, next to what it is done with; on a phone it is at hand.
    """
    with st.container(border=True, key="lesson_card"):
        _head(now)
        if not _is_here(now):
            _way_back(now)
            return
        handed_in.note_changes(now)
        following.switch(now)
        _ways(now)
        if now.guess is None:
            st.markdown(now.step.before)
        _say_whose_words(now)
        if now.step.ask and run is not None:
            asked(now, now.step.ask, run)
        is_done = now.is_through and _after(now, run, place)
        _at_either_end(now, is_done=is_done)


def head(now: Now, run: Run | None, title: str) -> None:
    """What stands where the panel will be, or above it: a question, then the title of the panel.

    One button ends the guessing and then leads on.
    """
    progress.LESSON_RUN.keep(run)
    is_below = guessing.is_at_hand(now.step.ask)
    is_asked = not (now.is_through or now.is_waiting)
    has_frame = now.is_withheld or (now.is_asked_beside and not is_below)
    with st.container(border=has_frame, key="lesson_veil"):
        if now.is_withheld:
            text = _("The picture appears once you have guessed.")
            text = _(WAITING) if now.is_waiting else text
            st.caption(f":material/visibility_off: {text}")
        else:
            st.empty()  # what follows keeps its place
        if is_asked and now.step.ask and run is not None and _is_here(now):
            guessing.ask_for(now, now.step.ask, run)
        elif now.is_through:
            st.fragment(_title)(now, title)
    if title and not (now.is_withheld or now.is_through):
        st.subheader(title)


def _title(now: Now, title: str) -> None:
    """What the panel is called, and the way on; a phone has that at hand."""
    if link.must_redraw():
        st.rerun(scope="app")
    st.empty()  # where the question stood
    with guessing.buttons(is_right=not title):
        if title:
            st.subheader(title, width="stretch")
        if _is_here(now) and not is_phone():
            _on(now)


def _is_here(now: Now) -> bool:
    return now.step.page == page_here()


def _head(now: Now) -> None:
    with st.container(horizontal=True, wrap=False, vertical_alignment="center", key="lesson_head"):
        n, whole = now.i + 1, len(now.lesson.steps)
        said = [_("step {n} of {all}").format(n=n, all=whole)]
        if code := link.value("room"):
            said.append(_("Room {code}").format(code=code))
        unbroken = (text.replace(" ", "\u00a0") for text in said)
        st.caption(" · ".join([now.lesson.title, *unbroken]), width="stretch")
        glossary.offer(now.step.before, *_told_after(now), key="lesson_words")
        with st.container(width="content", key="leave"):  # to Home, which keeps the way back
            way, query = progress.way_home()
            st.page_link(way, label=_("Leave"), icon=":material/close:", query_params=query)


def _told_after(now: Now) -> tuple[str, ...]:
    """What is read once a step is through: its words would give the answer away before."""
    return (now.step.after,) if now.is_through else ()


def _way_back(now: Now) -> None:
    path, query = progress.way_on(now.lesson, now.i)
    st.markdown(_("The lesson picks up where you left off."))
    st.page_link(path, label=_("Back to the lesson"), icon=":material/school:", query_params=query)


def _say_whose_words(now: Now) -> None:
    """Why the reader's own sentence does not stand here, where it could."""
    own = progress.own_text()
    if own and now.step.own_words and progress.lacks_own_words(now.step, own):
        text = _(
            "Your own sentence is shorter than {n} words, so the lesson's sentence is used here."
        )
        st.caption(text.format(n=now.step.own_words))


def asked(now: Now, ask: Ask, run: Run) -> None:
    """What came of a guess, why, and its picture: the first words of why are in sight.

    Of a curve the picture says what came of it, and stands first.
    """
    if now.guess and now.is_waiting:
        st.markdown(f"**{ask.question}**")
        guess = sheet.in_words(ask, now.guess, progress.labels(ask, run))
        text = sentences(_("Your guess: {guess}.").format(guess=guess), _(WAITING))
        st.info(text, icon=":material/hourglass:")
        return
    if now.answer is None:
        if fault := now.guess is not None and progress.FAULT.take():
            st.warning(say_fault(fault))
        if now.step.set:
            set_back.offer(now)
        return
    st.markdown(f"**{ask.question}**")
    rows, labels = progress.labels(ask, run)
    found = Guessed(ask, now.answer, labels, rows)
    _verdict(found)
    if not now.step.task:
        question.given(now.step.so_far, run)
    is_curve = ask.kind is AskKind.CURVE
    if not is_curve:
        _why(now)
    show(guess_picture.picture, *found, facts=Guessed, key="guess_picture")
    if is_curve:
        _why(now)
    if is_curve and not present.is_on():
        points = verdict.points(ask, now.answer)
        folded(_("In numbers"), partial(show_whole, points), key="lesson_points")


def _verdict(found: Guessed) -> None:
    """What was measured, and whether that was guessed: in a word, a sign and a colour."""
    text = verdict.said(found)
    with st.container(key="lesson_verdict"):
        match is_right(found.ask, found.answer):
            case True:
                st.success(sentences(_("**Right.**"), text), icon=":material/check_circle:")
            case False:
                st.warning(sentences(_("**Not quite.**"), text), icon=":material/cancel:")
            case None if verdict.is_exact_curve(found):
                st.success(text, icon=":material/check_circle:")
            case None:
                st.info(text, icon=":material/straighten:")


def _why(now: Now) -> None:
    if now.step.after:
        st.markdown(now.step.after)


def _after(now: Now, run: Run | None, place: DeltaGenerator) -> bool:
    """What was read before, and the task; where nothing was asked, why comes when that is done.

    Returns whether it is.
    """
    if now.guess is not None:
        with st.expander(_("Read the question again"), type="compact", key="lesson_before"):
            st.markdown(now.step.before)
    is_done = True
    if now.step.task and run is not None:
        with at_hand(place):
            is_done = _task(now, run)
    if is_done and not now.step.ask:
        _why(now)
    return is_done


def _task(now: Now, run: Run) -> bool:
    """What is to be done; returns whether it is."""
    try:
        is_done = progress.is_done(run)
    except ConfigError as error:
        st.warning(say_fault(error.faults[0]))
        set_back.offer(now)
        return False
    look: dict[str, Any] = {"horizontal": True, "wrap": False, "vertical_alignment": "center"}
    with st.container(**look, key="lesson_task"):
        if is_done:
            text = _("Done: {task}").format(task=now.step.task)
            st.success(text, icon=":material/task_alt:")
        else:
            text = _("Your turn: {task}").format(task=now.step.task)
            st.info(text, icon=":material/radio_button_unchecked:")
            st.button(_("Do it for me"), type="primary", on_click=progress.solve, key="solve_task")
    question.given(now.step.so_far, run)
    return is_done


def _ways(now: Now) -> None:
    """What the step is called, and the way to the one before; on a phone all ways are at hand."""
    with st.container(horizontal=True, vertical_alignment="center", wrap=False, key="lesson_title"):
        st.markdown(f"##### {now.step.title}", width="stretch")
        if now.i and not is_phone():
            _back(now)
    leads_on = now.is_through and not handed_in.is_asked_for(now)
    if not (is_phone() and (now.i or leads_on)):
        return
    side = "distribute" if now.i else "right"
    look: dict[str, Any] = {"horizontal_alignment": side, "vertical_alignment": "center"}
    with at_hand(), st.container(horizontal=True, **look, key="lesson_ways"):
        if now.i:
            _back(now)
        if leads_on:
            _on(now)


def _at_either_end(now: Now, *, is_done: bool) -> None:
    """A class that begins here; what was learned, the guesses as a file, the way out of it."""
    if now.i == 0:
        wall.way_to_open()
    is_over = now.is_last and (is_done or (now.step.ask and now.is_through))
    if is_over and (said := sentences(now.lesson.learned, *verdict.counted(now))):
        st.success(said, icon=":material/school:")
    if now.is_last and now.guesses:
        handed_in.offer(now)
    if handed_in.is_asked_for(now) and is_phone():
        _on(now)  # at hand it would lead away from what is handed in
    if now.is_through:  # before, it would stand between what is read and what is asked
        st.button(
            _("Leave the lesson and explore here"),
            icon=":material/explore:",
            type="tertiary",
            on_click=progress.leave,
            key="leave_lesson",
        )


def _back(now: Now) -> None:
    """To the step before."""
    label, icon, before = _("Back"), ":material/arrow_back:", now.i - 1
    if now.lesson.steps[before].page == now.step.page:
        go = partial(progress.go, before)
        st.button(label, icon=icon, type="tertiary", on_click=go, key="lesson_back")
    else:
        path, query = progress.way_on(now.lesson, before)
        st.page_link(path, label=label, icon=icon, query_params=query)


def _on(now: Now) -> None:
    """To the step after; at the end, to the next lesson."""
    label, icon = _("Next step"), ":material/arrow_forward:"
    if now.is_last:
        if found := _next_lesson(now):
            _lead(_("Next lesson"), icon, progress.way_in(found), found.title)
        else:
            _lead(_("All lessons"), icon, progress.way_home())
    elif now.lesson.steps[now.i + 1].page == now.step.page:
        go = partial(progress.go, now.i + 1)
        look: dict[str, Any] = {"type": "secondary" if progress.is_open() else "primary"}
        st.button(label, icon=icon, on_click=go, key=guessing.ON, **look)
    else:
        _lead(label, icon, progress.way_on(now.lesson, now.i + 1))


def _lead(label: str, icon: str, way: tuple[str, dict[str, str]], told: str | None = None) -> None:
    """A link to another page, which stands out as a button does.

    (A button that switches the page would leave two entries in the browser's history.)
    """
    path, query = way
    text = f":primary-badge[{icon} **{label}**]"
    st.page_link(path, label=text, query_params=query, help=told)


def _next_lesson(now: Now) -> Lesson | None:
    names = progress.names()
    place = names.index(now.lesson.id) + 1 if now.lesson.id in names else len(names)
    return progress.lesson(names[place]) if place < len(names) else None
