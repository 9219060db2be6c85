"""Long work, step by step: how far it is, how long it takes yet, and a way to stop it.

What a page shows by itself is made in steps of its own thread; what a reader asks for is a series,
made in another process when its turn in the queue has come.
"""

import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Generic, NamedTuple, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType

from blocks import ConfigError
from blocks.work.job import Series
from blocks.work.queue import Place
from blocks.work.works import Works
from pages.server import cached, machine, runs, settings
from pages.server.once import once
from pages.server.passes import about
from pages.session.slot import Slot
from pages.stage import link
from pages.stage.press import press
from pages.words.language import _, say_fault, sentences

A_MOMENT, A_WHILE, SECONDS_BETWEEN_LOOKS = 0.3, 5.0, 0.2
N_FIRST = 3  # steps that say too little about how long the others take
T = TypeVar("T")


class Done(NamedTuple, Generic[T]):
    """What the steps gave, in their order, and whether the reader stopped before the last."""

    found: list[T]
    is_stopped: bool


@once
def works() -> Works:
    folder = machine.folder() if settings.work_in_processes() else None
    return Works(machine.queue(), turn=_turn, folder=folder)


def _turn(series: Series[Any]) -> AbstractContextManager[None]:
    turn = machine.turns().alone if series.is_timed else cached.turn
    return turn(series.device)


def in_series(
    series: Series[T],
    *,
    key: str,
    asked_by: str,
    first: int | None = None,
    each: str = "",
    n_after: int = 0,
    costs: Sequence[float] = (),
    fewest: int = 1,
    draws: Callable[[Sequence[T]], None] | None = None,
) -> Done[T]:
    """The first values of a series (all), behind a progress bar; kept for whoever asks again.

    Other work starts over where this one was stopped. The reader can stop at any time, or set
    something else, which is answered first. It begins where the reader has set the field that asks
    for it; where a link has, it is offered, unless all of it is known. `each`: what one value is;
    `n_after`: how many steps another series goes on with, which is offered with it. `costs`: how
    long each value takes in proportion, where that differs; `fewest`: of how many on the page
    shows something; `draws` shows those so far whenever one is added.
    """
    n_all = series.n_steps if first is None else first
    what, known = (series, n_all), works().found(series)
    if len(known) < n_all and not link.is_set_here(asked_by):
        _offer_to_begin(n_all + n_after, key, asked_by)
        return Done([], is_stopped=True)

    def next_of(found: Sequence[T]) -> T | Place:
        if len(found) < len(known):
            return known[len(found)]
        more = works().follow(
            series,
            first=_n_until_stopped(what, key, n_all),
            known=len(found),
            owner=runs.owner(),
            patience=SECONDS_BETWEEN_LOOKS,
        )
        return more.found[len(found)] if len(more.found) > len(found) else more.place

    shown = _Progress(n_all, what, key, each, costs, n_known=len(known))
    return _followed(next_of, shown, is_asked=True, fewest=fewest, draws=draws)


def in_steps(
    steps: Sequence[Callable[[], T]],
    *,
    what: Hashable,
    key: str,
    asked_by: str = "",
    rest: Sequence[Callable[[], Series[T]]] = (),
    shows_parts: bool = True,
) -> Done[T]:
    """Run `steps` behind a progress bar and return their results; each step caches itself.

    `what` identifies the work: other work starts over where this one was stopped. A step
    should take less than a second, since the reader can stop between two of them, or set something
    else, which is answered first. What nobody asked for pauses after a while, and the reader says
    whether it goes on. What a field asks for (`asked_by`) runs through where the reader has set it;
    where a link has, it is offered. Where it goes on, each of the `rest` is a series of one value:
    once another process has made it, the step finds it there. `shows_parts`: the page shows
    something before the last step is done.
    """
    if asked_by and not link.is_set_here(asked_by):
        _offer_to_begin(len(steps), key, asked_by)
        return Done([], is_stopped=True)
    goes_on, n_here = _kept(key, "goes_on").get()

    def next_of(found: Sequence[T]) -> T | Place:
        i = len(found)
        if rest and goes_on == what and i >= n_here and not works().found(one := rest[i]()):
            more = works().follow(
                one, first=1, known=0, owner=runs.owner(), patience=SECONDS_BETWEEN_LOOKS
            )
            if not more.found:
                return more.place
        return steps[i]()

    shown = _Progress(len(steps), what, key)
    fewest = 1 if shows_parts else len(steps)
    return _followed(next_of, shown, is_asked=bool(asked_by), fewest=fewest)


def n_finished(what: Hashable, key: str) -> int:
    known, n = _kept(key, "done").get()
    return n if known == what else 0


def _followed(
    next_of: Callable[[Sequence[T]], T | Place],
    shown: "_Progress",
    *,
    is_asked: bool,
    fewest: int,
    draws: Callable[[Sequence[T]], None] | None = None,
) -> Done[T]:
    """Take one value after the other; a place instead of a value says that it is still awaited."""
    n_all, what, key = shown.n_all, shown.what, shown.key
    found: list[T] = []
    n_steps = _n_until_stopped(what, key, n_all)
    may_go_on = is_asked or _kept(key, "goes_on").get()[0] == what
    while len(found) < n_steps:
        if (found or shown.awaited.position) and is_touched():
            shown.place.empty()
            return Done(found, is_stopped=True)
        if shown.elapsed > A_WHILE and not may_go_on:
            n_steps = len(found)
            _pause(n_steps, what, key, shown.elapsed / max(1, n_steps) * (n_all - n_steps))
            break
        shown.note(len(found))
        try:
            value = next_of(found)
        except ConfigError as error:
            shown.refuse(error)
            return Done(found, is_stopped=True)
        if isinstance(value, Place):
            shown.awaited = value
        else:
            found.append(value)
            _kept(key, "done").keep((what, len(found)))
            if draws:
                draws(found)
    shown.end(n_steps, shows_parts=n_steps >= fewest)
    return Done(found, n_steps < n_all)


class _Progress:
    """How far a work is, shown once it has taken a moment."""

    def __init__(
        self,
        n_all: int,
        what: Hashable,
        key: str,
        each: str = "",
        costs: Sequence[float] = (),
        n_known: int = 0,
    ):
        self.place, self.begun = st.empty(), time.monotonic()
        self.n_all, self.what, self.key, self.each = n_all, what, key, each
        self.costs, self.n_known, self.last = costs or [1.0] * n_all, n_known, (0, 0.0)
        self.bar: DeltaGenerator | None = None
        self.awaited = Place(0, None)

    @property
    def elapsed(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self.begun

    def note(self, n_done: int) -> None:
        """So many steps are done."""
        elapsed = self.elapsed
        if n_done > self.last[0]:
            self.last = n_done, elapsed
        if self.bar is None and elapsed > A_MOMENT:
            self.bar = _bar(self.place, self.what, self.key)
        if self.bar is not None:
            said = says_place(self.awaited) if self.awaited.position else self._says(n_done)
            self.bar.progress(n_done / self.n_all, said)

    def _says(self, n_done: int) -> str:
        done = says_done(n_done, self.n_all, self.each)
        if n_done < self.n_known + N_FIRST:
            return done
        seconds = seconds_left(self.costs[self.n_known :], n_done - self.n_known, *self.times)
        return _("{done} · about {seconds:.0f} s left").format(done=done, seconds=seconds)

    @property
    def times(self) -> tuple[float, float]:
        """Seconds until the last step was done, and since."""
        return self.last[1], self.elapsed - self.last[1]

    def refuse(self, error: ConfigError) -> None:
        """A step cannot be: say why, and offer to try again."""
        with self.place.container():
            st.error(sentences(*map(say_fault, error.faults)), icon=":material/block:")
            _go_on_button(_("Try again"), ":material/refresh:", self.what, self.key)

    def end(self, n_steps: int, *, shows_parts: bool) -> None:
        """All is done, or the rest is offered."""
        self.place.empty()
        if n_steps < self.n_all:
            with self.place.container(horizontal=True, vertical_alignment="center"):
                paused, seconds = _kept(self.key, "paused").get()
                is_paused = paused == self.what
                said = says_left(n_steps, self.n_all, is_paused=is_paused, shows_parts=shows_parts)
                st.caption(sentences(said, _says_rest(seconds) if is_paused else ""))
                _go_on_button(_("Continue"), ":material/play_arrow:", self.what, self.key)


def _pause(n_done: int, what: Hashable, key: str, seconds_left: float) -> None:
    _kept(key, "stopped").keep((what, n_done))
    _kept(key, "paused").keep((what, seconds_left))


def _says_rest(seconds: float) -> str:
    """How long it takes to go on to the end, where it has taken a while already."""
    return _("The rest takes about {time}.").format(time=about(seconds))


def _kept(key: str, what: str) -> Slot[tuple[Hashable, Any]]:
    """Which work this is said of: how many steps are done, stopped at, gone on from; seconds."""
    return Slot(f"{key}_{what}", (None, 0))


def says_place(place: Place) -> str:
    """Which number a reader has in the queue, and how long it takes until then."""
    said = _("number {n} in the queue").format(n=place.position)
    if place.seconds is None:
        return said
    return f"{said} · " + _("starts in about {seconds:.0f} s").format(seconds=place.seconds)


def is_touched() -> bool:
    """Whether the reader has touched something meanwhile, the button that stops for one.

    Streamlit hears of what is touched in a section only when the section has come to its end. A
    section that asks to be drawn again by itself, by the clock, is not touched.
    """
    requests: Any = getattr(get_script_run_ctx(), "script_requests", None)
    if getattr(requests, "_state", None) is not ScriptRequestType.RERUN:
        return False
    asked = requests._rerun_data
    return not (asked.is_auto_rerun and len(asked.fragment_id_queue) == 1)


def _n_until_stopped(what: Hashable, key: str, n_steps: int) -> int:
    """How many steps are shown: all, or those that were done when the reader stopped this work."""
    stopped, n_done = _kept(key, "stopped").get()
    return n_done if stopped == what else n_steps


def _bar(place: DeltaGenerator, what: Hashable, key: str) -> DeltaGenerator:
    with place.container(horizontal=True, vertical_alignment="center"):
        bar = st.progress(0.0, " ")
        press(_("Stop"), f"{key}_stop", _stop, what, key, icon="stop")
    return bar


def seconds_left(costs: Sequence[float], n_done: int, until: float, since: float) -> float:
    """How long the rest takes, where the first steps took `until` and the next began `since`.

    `costs`: how long each step takes in proportion.
    """
    of_one = until / sum(costs[:n_done])
    return max(0.0, of_one * costs[n_done] - since) + of_one * sum(costs[n_done + 1 :])


def says_done(i: int, n_steps: int, each: str = "") -> str:
    """How much is done, and of what where the number would not say it."""
    text = _("{done} of {all} parts {each}") if each else _("{done} of {all}")
    return text.format(done=i, all=n_steps, each=each)


def _stop(what: Hashable, key: str) -> None:
    works().leave(runs.owner())
    known, n_done = _kept(key, "done").get()
    _kept(key, "stopped").keep((what, n_done if known == what else 0))
    _kept(key, "paused").take()


def _go_on(what: Hashable, key: str) -> None:
    _what, n_done = _kept(key, "stopped").take()
    _kept(key, "goes_on").keep((what, n_done))


def _offer_to_begin(n_steps: int, key: str, asked_by: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        text = _("The link asks for a run of {n} steps, which has not started yet.")
        st.caption(text.format(n=n_steps))
        press(
            _("Start"),
            f"{key}_begin",
            link.change,
            asked_by,
            link.value(asked_by),
            icon="play_arrow",
        )


def says_left(n_done: int, n_all: int, *, is_paused: bool, shows_parts: bool) -> str:
    """How far it went, and whether anything of it is shown."""
    if is_paused and shows_parts and n_done:
        text = _(
            "Paused after {done} of {all} steps to keep the page responsive; the results so "
            "far are shown."
        )
    elif is_paused:
        text = _(
            "Paused after {done} of {all} steps to keep the page responsive. There is nothing to "
            "show yet."
        )
    elif shows_parts and n_done:
        text = _("Stopped after {done} of {all} steps; only the results so far are shown.")
    else:
        text = _("Stopped after {done} of {all} steps. There is nothing to show yet.")
    return text.format(done=n_done, all=n_all)


def _go_on_button(label: str, icon: str, what: Hashable, key: str) -> None:
    st.button(label, icon=icon, on_click=_go_on, args=(what, key), key=f"{key}_go_on")
