"""The card of a lesson: what is read, what is asked, what came of the guess, what to try."""

from contextlib import nullcontext

import streamlit as st

from blocks import ConfigError
from blocks.lessons.answers import fits, is_right
from blocks.lessons.lesson import Ask
from blocks.observe.run import Run
from pages.figures import guess as guess_picture
from pages.figures.guess import Guessed
from pages.ui import link
from pages.ui.address import page_here
from pages.ui.chart import show
from pages.ui.language import _, ngettext, say_fault, sentences
from pages.ui.lessons import guessing, handed_in, progress, set_back, verdict, wall
from pages.ui.lessons.progress import Now
from pages.ui.phone import at_hand


def draw(now: Now, run: Run | None) -> None:
    """The open step of a lesson, where it takes place; elsewhere the way there."""
    st.session_state["lesson_run"] = run
    with st.container(border=True, key="lesson_card"):
        _head(now)
        if not _is_here(now):
            _way_back(now)
            return
        handed_in.note_changes(now)
        st.markdown(f"##### {now.step.title}")
        st.markdown(now.step.before)
        _say_whose_words(now)
        if now.step.ask and run is not None:
            _question(now, now.step.ask, run)
        if not now.step.ask or now.answer:
            _after(now, run)
        _ways(now)


def veil(now: Now, run: Run | None) -> None:
    """What stands where the panel will be: the question that it waits for."""
    with st.container(border=True, key="lesson_veil"):
        text = _("The picture is shown when you have guessed.")
        st.caption(f":material/visibility_off: {text}")
        if now.step.ask and run is not None and _is_here(now):
            guessing.ask_for(now, now.step.ask, run)


def _is_here(now: Now) -> bool:
    return now.step.page == page_here()


def _head(now: Now) -> None:
    with st.container(horizontal=True, wrap=False, vertical_alignment="center", key="lesson_head"):
        text = _("{title} · step {n} of {all}")
        n, whole = now.i + 1, len(now.lesson.steps)
        said = [text.format(title=now.lesson.title, n=n, all=whole)]
        if code := link.value("room"):
            said.append(_("Room {code}").format(code=code))
        st.caption(" · ".join(said), width="stretch")
        st.button(
            _("Leave"),
            icon=":material/close:",
            type="tertiary",
            on_click=progress.leave,
            key="leave_lesson",
        )


def _way_back(now: Now) -> None:
    path, query = progress.way_on(now.lesson, now.i)
    st.markdown(_("The lesson continues where you left it."))
    st.page_link(path, label=_("Back to the lesson"), icon=":material/school:", query_params=query)


def _say_whose_words(now: Now) -> None:
    """Why the reader's own sentence does not stand here, where it could."""
    if now.step.own_words and progress.own_text() and progress.lacks_own_words(now.step):
        text = _("Your own sentence is shorter than {n} words: the lesson's own is used here.")
        st.caption(text.format(n=now.step.own_words))


def _question(now: Now, ask: Ask, run: Run) -> None:
    if now.answer is None:
        if now.step.set:
            set_back.offer(now)
        if not now.is_withheld:  # otherwise asked in the place of the panel
            guessing.ask_for(now, ask, run)
        return
    st.markdown(f"**{ask.question}**")
    rows, labels = progress.labels(ask, run)
    found = Guessed(ask, now.answer, labels, rows)
    with nullcontext() if now.step.task else at_hand():  # a task is what is at hand, if any
        _verdict(found)
    show(guess_picture.picture, found, facts=_as_it_is, key="guess_picture")


def _as_it_is(found: Guessed) -> Guessed:
    return found


def _verdict(found: Guessed) -> None:
    right = is_right(found.ask, found.answer)
    icon = ":material/check_circle:" if right else ":material/straighten:"
    (st.success if right else st.info)(verdict.said(found), icon=icon)


def _after(now: Now, run: Run | None) -> None:
    if now.step.after:
        st.markdown(now.step.after)
    if now.step.task and run is not None:
        with at_hand():
            _task(now, run)


def _task(now: Now, run: Run) -> None:
    """What is to be done, and whether it is."""
    try:
        is_done = progress.is_done(run)
    except ConfigError as error:
        st.warning(say_fault(error.faults[0]))
        set_back.offer(now)
        return
    if is_done:
        text = _("Done: {task}").format(task=now.step.task)
        st.success(text, icon=":material/task_alt:")
    else:
        text = _("Your turn: {task}").format(task=now.step.task)
        st.info(text, icon=":material/radio_button_unchecked:")
    guessing.given(now.step.so_far, run)
    if not is_done:
        st.button(_("Do it for me"), type="tertiary", on_click=progress.solve, key="solve_task")


def _ways(now: Now) -> None:
    """To the step before and the step after; at the end, to the next lesson."""
    is_open = not now.step.ask or bool(now.answer)
    with (
        at_hand(),
        st.container(horizontal=True, horizontal_alignment="distribute", key="lesson_ways"),
    ):
        if now.i:
            _to(now, now.i - 1, _("Back"), ":material/arrow_back:", "tertiary")
        if is_open and now.i + 1 < len(now.lesson.steps):
            _to(now, now.i + 1, _("Go on"), ":material/arrow_forward:", "primary")
    if is_open and now.i + 1 == len(now.lesson.steps):
        _end(now)
        _next_lesson(now)
    if now.i == 0:
        wall.way_to_open()
    if now.i + 1 == len(now.lesson.steps) and now.answers:
        handed_in.offer(now)


def _to(now: Now, i: int, label: str, icon: str, kind: str) -> None:
    if now.lesson.steps[i].page == now.step.page:
        st.button(
            label,
            icon=icon,
            type=kind,  # type: ignore[arg-type]
            on_click=progress.go,
            args=(i,),
            key=f"lesson_to_{i}",
        )
        return
    path, query = progress.way_on(now.lesson, i)
    st.page_link(path, label=label, icon=icon, query_params=query)


def _end(now: Now) -> None:
    """What was learned, and how many guesses were right of those that can be."""
    pairs = ((step.ask, now.answers.get(i)) for i, step in enumerate(now.lesson.steps))
    judged = [is_right(ask, found) for ask, found in pairs if ask and found and fits(ask, found)]
    n, right = sum(each is not None for each in judged), sum(map(bool, judged))
    text = ngettext(
        "{right} of {n} guess was right.", "{right} of {n} guesses were right.", n
    ).format(right=right, n=n)
    if said := sentences(now.lesson.learned, text if n else ""):
        st.success(said, icon=":material/school:")


def _next_lesson(now: Now) -> None:
    names = progress.names()
    place = names.index(now.lesson.id) + 1 if now.lesson.id in names else len(names)
    found = progress.lesson(names[place]) if place < len(names) else None
    if found:
        path, query = progress.way_in(found)
        st.caption(_("Next lesson"))
        st.page_link(path, label=found.title, icon=":material/school:", query_params=query)
