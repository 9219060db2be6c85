"""Learners of a class that is led: answers come when the teacher shows them, steps as he goes."""

from functools import partial

import streamlit as st

from blocks.lessons import answers
from blocks.lessons.rooms import Lead
from pages.server.address import page_here
from pages.session.slot import Slot
from pages.stage import led, link, progress
from pages.stage.progress import Now
from pages.words.language import _

EVERY = 2.0  # seconds between two looks at what the leader shows
GO = Slot[int | None]("go_to_step", None)  # the step to open
FOLLOWED = Slot[tuple[str, int] | None]("followed", None)  # the room and step followed last


def to(i: int) -> None:
    """Open a step, on whatever page it is, when the page is drawn next; a callback."""
    GO.keep(i)
    link.redraw_everything()


def begin_page() -> None:
    """Before a page reads its link: open the step that is to be opened."""
    if not link.ALL_SET.get() and page_here() == link.HOME_PAGE:
        _lead_in()
    i, found = GO.take(), progress.now()
    if i is None or found is None or not i < len(found.lesson.steps):
        return
    if found.lesson.steps[i].page == page_here():
        progress.go(i)
    else:
        path, query = progress.way_on(found.lesson, i)
        st.switch_page(path, query_params=query)


def _lead_in() -> None:
    """A link to Home that names a lesson leads to it; who goes back from there stays on Home."""
    with link.as_if(link.read(st.query_params.to_dict()).values):
        if found := progress.now():
            path, query = progress.way_on(found.lesson, found.i)
            st.switch_page(path, query_params=query)


def switch(now: Now) -> None:
    if led.seen(now.lesson.id):
        st.toggle(_("Follow the teacher"), **link.hidden_view("follow", led.is_following()))


def watch(now: Now) -> None:
    """Look at what the leader shows, as long as the learner follows or waits."""
    if led.seen(now.lesson.id) and (led.is_following() or now.is_held):
        st.fragment(partial(_look, now), run_every=EVERY)()


def _look(now: Now) -> None:
    """Draw the page anew where there is something new for this learner."""
    found = led.look(now.lesson.id)
    if found and led.is_following() and _has_gone(found, now):
        GO.keep(found.step)
    elif not now.is_held or (found and found.holds(now.i)):
        return
    elif found and led.is_following() and now.guess is None and now.i in found.shown:
        link.change("guesses", answers.written({**now.guesses, now.i: ()}))
    st.rerun(scope="app")


def _has_gone(found: Lead, now: Now) -> bool:
    """Whether the leader has opened another step since this learner followed last.

    Who then looks back at a step stays there until the leader goes on.
    """
    here = (link.value("room"), found.step)
    is_new = FOLLOWED.get() != here
    FOLLOWED.keep(here)
    return is_new and found.step != now.i
