"""Which lesson is open, how far the reader has come, and where a step takes place."""

from collections.abc import Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, urlencode

import streamlit as st

from blocks import ConfigError, Fault, Recording
from blocks.lessons import answers as answering
from blocks.lessons import maps, shelf
from blocks.lessons.answers import Answer, Values
from blocks.lessons.lesson import Ask, AskKind, Lesson, Step
from blocks.lessons.place import Place
from blocks.model.models import Model
from blocks.observe.run import Run
from blocks.text.words import first_words, words
from blocks.weights.known import MODELS
from pages.server import cached, room
from pages.server.settings import lessons_folder
from pages.server.turns import turns
from pages.session.slot import Slot
from pages.stage import history, led, link
from pages.stage.phone import is_phone
from pages.stage.wanted import as_link
from pages.state.fields import CONFIG
from pages.state.link_fields.lessons import FIELDS, LEFT
from pages.words.language import LANGUAGES, browser_language, current_language

HOME = "app.py"
INPUT = Slot("input", False)  # the line that opens to change what goes in
TURN = Slot("lesson_turn", "")
ASKED, BLANK, DRAWN = "asked", "blank", "drawn"
OF_ANOTHER = {*link.OF_ONE_MODEL, "mask_kind"}  # what is not for another model
# What was measured for guesses, by what was asked; why nothing could be.
MEASURED = Slot[Mapping[Hashable, tuple[Values, Answer]]]("lesson_measured", {})
LESSON_RUN = Slot[Any]("lesson_run", None)  # for who checks a lesson
FAULT = Slot[Fault | None]("lesson_fault", None)
OF_NOW = ("lang", "hide")  # what no lesson changes
BROUGHT = "brought"  # the name of the lesson that this reader brought, which no other can open
BROUGHT_LESSON = Slot[Lesson | None](BROUGHT, None)
IN_A_PICTURE = (AskKind.CURVE, AskKind.CELL)  # which wants width
TALL = (*IN_A_PICTURE, AskKind.ORDER)  # guessed with what fills a phone's screen
A_MOMENT = 0.05  # seconds after which a browser that has drawn the blank page asks for the rest
KEPT = ("lang", "text", "hide", "present", *FIELDS)  # what goes on from step to step


@dataclass(frozen=True)
class Now:
    """Where the reader stands in a lesson.

    `guesses`: what the link says, by step. `answers`: beside each what this session has measured.
    `is_held`: the answer of the open step waits until the leader of the class shows it.
    """

    lesson: Lesson
    i: int
    guesses: Mapping[int, Values]
    answers: Mapping[int, Answer]
    is_held: bool = False

    @property
    def step(self) -> Step:
        return self.lesson.steps[self.i]

    @property
    def guess(self) -> Values | None:
        """What was guessed here, empty: nothing, but it was shown; None while it is asked."""
        ask, found = self.step.ask, self.guesses.get(self.i)
        return found if ask and found is not None and answering.fits(ask, found) else None

    @property
    def answer(self) -> Answer | None:
        return self.answers.get(self.i) if self.guess is not None else None

    @property
    def is_through(self) -> bool:
        """Whether nothing is asked here, or it was answered and the answer waits for nobody."""
        return not self.step.ask or (self.guess is not None and not self.is_held)

    @property
    def is_waiting(self) -> bool:
        return self.guess is not None and self.is_held

    @property
    def is_last(self) -> bool:
        return self.i + 1 == len(self.lesson.steps)

    @property
    def is_withheld(self) -> bool:
        """Whether the panel waits for the guess, or for the leader of the class."""
        return self.step.withhold and not self.is_through

    @property
    def is_asked_beside(self) -> bool:
        """Whether a question waits beside the card: in the place of the panel, or above it."""
        return self.is_withheld or not self.is_through

    @property
    def asks_for_settings(self) -> bool:
        """Whether the task is done in the sidebar, where the model is set."""
        return any(name in CONFIG for name, _text in self.step.solution)


def now() -> Now | None:
    """Where the reader stands; None where no lesson is open, or none of this name is there."""
    found = lesson(link.value("lesson")) if link.value("lesson") else None
    if found is None:
        return None
    i = min(link.value("lesson_step"), len(found.steps) - 1)
    guesses = answering.read(link.value("guesses"))
    answers = {n: each for n, each in _measured(found, guesses).items() if not _is_held(found, n)}
    return Now(found, i, guesses, answers, _is_held(found, i))


def _is_held(found: Lesson, i: int) -> bool:
    return bool(found.steps[i].ask) and led.holds(found.id, i)


def _measured(found: Lesson, guesses: Mapping[int, Values]) -> dict[int, Answer]:
    """What this session has measured for these guesses, by step."""
    kept = MEASURED.get()
    asked = ((i, step.ask) for i, step in enumerate(found.steps) if step.ask and i in guesses)
    pairs = ((i, *kept.get(_question(found, i, ask), (None, None))) for i, ask in asked)
    return {i: answer for i, guess, answer in pairs if guess == guesses[i]}


def _question(found: Lesson, i: int, ask: Ask) -> tuple[Hashable, ...]:
    return found.id, i, ask.kind, ask.truths, ask.xs


def judged(found: Now, run: Run) -> Now:
    """Where the reader stands, once a guess that only a link tells of is judged.

    What was measured stands in no link, since anybody can write one: it is measured here. What
    this session has measured stays, as the reader tries other settings, until the step is entered
    anew or a link is opened. Where nothing can be measured, the fault is kept for the card.
    """
    ask, guess, is_opened = found.step.ask, found.guess, link.OPENED.take()
    if ask is None or guess is None or found.is_held or (found.answer and not is_opened):
        return found
    try:
        answer = _judge(found, ask, guess, run)
    except ConfigError as error:
        FAULT.keep(error.faults[0])
        return found
    return replace(found, answers={**found.answers, found.i: answer})


def _judge(found: Now, ask: Ask, guess: Values, run: Run) -> Answer:
    """What comes of a guess, measured on this run. Raises `ConfigError` where nothing can be."""
    with turns().one():  # a callback comes before the page has its turn
        answer = answering.judged(ask, guess, _truth(ask, run, link.value("text")))
    question = _question(found.lesson, found.i, ask)
    MEASURED.keep({**MEASURED.get(), question: (guess, answer)})
    return answer


def completed(query: dict[str, str]) -> dict[str, str]:
    """A link to a lesson with what its step begins with; what the link says itself wins.

    Where it names another model, the settings of the lesson's model are not for it.
    """
    language = query.get("lang", "") if query.get("lang") in LANGUAGES else browser_language()
    before = link.ALL_SET.get()
    if "lesson" in query and "lesson" not in before:
        link.BEFORE_LESSON.keep(before)
    found = lesson(query.get("lesson", ""), language)
    if found is None:
        return query
    i = min(link.read(query).values.get("lesson_step", 0), len(found.steps) - 1)
    begun = _begun(found, i, query.get("own_text", ""))
    link.SAID_ANYWAY.keep(tuple(begun))
    if query.get("preset", begun.get("preset")) != begun.get("preset"):
        begun = {name: text for name, text in begun.items() if name not in OF_ANOTHER}
    return {**begun, **query}


def _begun(found: Lesson, i: int, own: str) -> dict[str, str]:
    """What a step begins with for who has gone through those before it, with this own sentence."""
    begun = _set_by(last_set(found, i), own)
    texts = (_set_by(step, own).get("text") for step in reversed(found.steps[: i + 1]))
    text = next(filter(None, texts), "") if borrows(found, i) else ""
    rest = {name: each for name, each in begun.items() if name != "text"}
    return {**rest, "text": text} if text else rest


def lesson(name: str, language: str = "") -> Lesson | None:
    """A lesson in a language, the reader's: ours, one of the folder of this server, or brought."""
    if name == BROUGHT:
        return BROUGHT_LESSON.get()
    language = language or current_language()
    own = lessons_folder()
    return shelf.lesson(name, language) or (shelf.lesson(name, language, own) if own else None)


def is_gone() -> bool:
    """Whether a lesson is open that was brought in another session."""
    return link.value("lesson") == BROUGHT and BROUGHT_LESSON.get() is None


def names() -> tuple[str, ...]:
    own = lessons_folder()
    return tuple(dict.fromkeys((*shelf.names(), *(shelf.names(own) if own else ()))))


def place(run: Run) -> Place:
    """Where a lesson measures: the run of the page, as all of its panels see it."""
    return _place(run, link.value("text"))


def _place(run: Run, text: str) -> Place:
    return Place(run, text, _recording, _model)


def truth(ask: Ask, run: Run) -> Values:
    """The answer on this run. Raises `ConfigError` where nothing can be measured."""
    return _truth(ask, run, link.value("text"))


@lru_cache(maxsize=256)
def _truth(ask: Ask, run: Run, text: str) -> Values:
    """What is measured once for a whole class. Raises `ConfigError` where nothing can be."""
    return answering.measured(ask, _place(run, text))


def _recording(run: Run) -> Recording:
    """What a run showed that a measurement has changed. Raises `ConfigError` where none can be."""
    room.take_for(run)
    return cached.recording(run)


def _model(run: Run) -> Model:
    room.take_for(run)
    return cached.model(run)


def labels(ask: Ask, run: Run) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the rows and columns of a map are called; of a question about tokens, the columns."""
    rows, columns = maps.labels(ask.truths[0], run)
    return (rows if ask.kind is AskKind.CELL else ()), columns


def way_in(found: Lesson, i: int = 0) -> tuple[str, dict[str, str]]:
    """The page of a lesson's step, the first, and the link that opens it there."""
    state = link.as_query()
    kept: dict[str, str] = {name: state[name] for name in ("lang", "hide") if name in state}
    if own := own_text():
        kept["own_text" if borrows(found, i) else "text"] = own
    return _step_link(found, i, kept)


def way_on(found: Lesson, i: int) -> tuple[str, dict[str, str]]:
    """The page of a step of the lesson that is open, and the link that goes on there."""
    state = link.elsewhere(found.steps[i].page)
    return _step_link(found, i, _carried(found, i, state))


def _step_link(found: Lesson, i: int, kept: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    step = found.steps[i]
    query = {**kept, **_set_by(step, own_text()), "lesson": found.id, "lesson_step": str(i)}
    if not i:
        del query["lesson_step"]
    if step.show:
        query["panel"] = step.show
    return page_file(step.page), {name: link.as_carried(name, each) for name, each in query.items()}


def _set_by(step: Step, own: str) -> dict[str, str]:
    """What a step sets; words of the reader's own sentence stand in it where it takes them."""
    found = as_link(step.set)
    if step.own_words and not lacks_own_words(step, own):
        found["text"] = first_words(own, step.own_words)
    return found


def lacks_own_words(step: Step, own: str) -> bool:
    """Whether the reader's own sentence is shorter than a step wants it."""
    return words(own, at_most=step.own_words)[1] < step.own_words


def own_text() -> str:
    """The reader's own sentence, though a lesson may have put another in its place.

    With what Home opens a real model, nobody has written.
    """
    found = now()
    is_borrowed = found and borrows(found.lesson, found.i)
    text = str(link.state().get("own_text" if is_borrowed else "text", ""))
    return "" if any(text in model.texts.values() for model in MODELS) else text


def borrows(found: Lesson, i: int) -> bool:
    """Whether a step of a lesson reads another text than the reader's own."""
    before = reversed(found.steps[: i + 1])
    last = next((step for step in before if step.own_text or "text" in dict(step.set)), None)
    return last is not None and not last.own_text


def _carried(found: Lesson, i: int, state: Mapping[str, Any]) -> dict[str, Any]:
    """What a step takes over of a state: all, or what goes on where it sets things anew."""
    kept, own = _going_on(state) if found.steps[i].set else {**state}, own_text()
    if not borrows(found, i):
        kept = {name: value for name, value in kept.items() if name not in ("text", "own_text")}
    if own:
        kept["own_text" if borrows(found, i) else "text"] = own
    return kept


def _going_on(state: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in state.items() if name in KEPT}


def page_file(name: str) -> str:
    return f"pages/{name}.py"


def go(i: int) -> None:
    """Open a step of this page: what it sets, or else what is set, as the reader has left it."""
    found = now()
    if found is None:
        return
    step = found.lesson.steps[i]
    _begin(i, step, _carried(found.lesson, i, link.state()) | settings_of(step))


def set_back() -> None:
    """Begin the open step anew with what the lesson has set for it."""
    if found := now():
        state = _going_on(link.state()) | settings_of(last_set(found.lesson, found.i))
        _begin(found.i, found.step, state)


def last_set(found: Lesson, i: int) -> Step:
    """What has set what a step begins with: itself, a step before, else the first."""
    before = found.steps[: i + 1]
    return next((step for step in reversed(before) if step.set), before[0])


def settings_of(step: Step) -> dict[str, Any]:
    return link.read(_set_by(step, own_text())).values


def _begin(i: int, step: Step, state: dict[str, Any]) -> None:
    state |= {"lesson_step": i, "panel": step.show}
    if step.set:
        link.SAID_ANYWAY.keep(tuple(as_link(step.set)))
    INPUT.keep(False)
    history.forget()  # a step shows no setting of the step before
    _forget_measured(i)
    link.become(link.mend(state).values)
    _begin_at_the_top()


def _forget_measured(i: int) -> None:
    """A step that is entered anew measures what stands there then."""
    found = now()
    if found and (ask := found.lesson.steps[i].ask):
        question = _question(found.lesson, i, ask)
        MEASURED.keep({key: each for key, each in MEASURED.get().items() if key != question})


def _begin_at_the_top() -> None:
    """Draw the page anew from its top: blank first, since a browser stays where it was."""
    TURN.keep(ASKED)
    link.redraw_everything()


def begin_page() -> None:
    """At the top of a page: it stays blank at first where it is to begin at its top.

    A browser scrolls to the top of a page that has become short, and stays there.
    """
    if TURN.take() == ASKED:
        TURN.keep(BLANK)


def is_blank() -> bool:
    """Whether the page is the blank one.

    It has no controls either: a browser that asks for the rest before it has set up new ones would
    say that they were moved.
    """
    return TURN.get() == BLANK


def is_turned() -> bool:
    """Whether the page is blank, since the reader goes on to another step; it asks for the rest.

    (Its script runs to its end: where one is stopped, Streamlit keeps the widgets that are gone.)
    """
    if not is_blank():
        return False
    st.fragment(_ask_for_the_rest, run_every=A_MOMENT)()
    return True


def _ask_for_the_rest() -> None:
    """Nothing when the blank page is drawn; all else once the browser asks again."""
    if not is_blank():
        st.rerun(scope="app")
    TURN.keep(DRAWN)


def answer(run: Run, guess: tuple[float, ...]) -> None:
    """Keep a guess, and what is measured now; none: show it without a guess.

    Raises `ConfigError` where there is nothing to measure.
    """
    found = now()
    if found is None or found.step.ask is None:
        return
    text = answering.written({**found.guesses, found.i: guess})
    _judge(found, found.step.ask, answering.read(text)[found.i], run)
    link.change("guesses", text)
    if is_phone():
        _begin_at_the_top()


def solve() -> None:
    """Do what the task of this step asks for."""
    if found := now():
        solution = as_link(found.step.solution, link.value("preset"))
        wanted = {**link.as_query(), **solution}
        link.become(link.mend(link.read(wanted).values).values, set_here=solution)
        link.redraw_everything()


def end() -> None:
    """Go on with what stood before the lesson."""
    link.become(link.read(_afterwards()).values)


def end_elsewhere(page: str) -> None:
    """A lesson whose last question is answered does not follow to other pages."""
    found, panel = now(), link.value("panel")
    if found is None or link.value("room") or found.step.page == page:
        return
    if found.is_last and found.is_through and found.step.ask:
        end()
        link.change("panel", panel)


def way_home() -> tuple[str, dict[str, str]]:
    """Home, and its link once the lesson that is open is left, so that Back leads into it again.

    A text that stood there before was written for the model that runs there.
    """
    before = {name: text for name, text in link.BEFORE_LESSON.get().items() if name == "text"}
    return HOME, link.elsewhere(HOME, _afterwards() | before)


def _afterwards() -> dict[str, str]:
    """What stood before the lesson; language and own sentence are those of now.

    The lesson can be taken up again on Home.
    """
    before, now = link.BEFORE_LESSON.get(), link.as_query()
    gone = (*OF_NOW, *LEFT, *FIELDS)  # a room that was joined leads back to its lesson
    query = {name: text for name, text in before.items() if name not in gone}
    query |= {name: now[name] for name in OF_NOW if name in now}
    found = {"text": link.as_carried("text", own_text()), "left_lesson": _where_it_is_left()}
    return query | {name: text for name, text in found.items() if text}


def leave() -> None:
    """End the lesson, and stay with its panel."""
    found = now()
    panel = link.value("panel") or (found.step.show if found else "")
    end()
    link.change("panel", panel)
    link.redraw_everything()


def _where_it_is_left() -> str:
    """The link of the lesson that is open, unless it is at its end."""
    found = now()
    if found is None or (found.is_last and found.is_through):
        return ""
    kept = {n: text for n, text in link.as_query().items() if n not in ("lang", "left_lesson")}
    return urlencode(kept, errors="replace")


def left() -> tuple[Now, dict[str, str]] | None:
    """The lesson that was left, as Home's link keeps it, with the link that takes it up again."""
    if not (kept := link.value("left_lesson")):
        return None
    query = dict(parse_qsl(kept, keep_blank_values=True))
    with link.as_if(link.read(query).values):
        found = now()
    if found is None:
        return None
    spoken = {name: text for name, text in link.as_query().items() if name == "lang"}
    return found, {**query, **spoken, **({"panel": found.step.show} if found.step.show else {})}


def is_done(run: Run) -> bool:
    """Whether the task of this step is done: read off the state, or measured.

    Raises `ConfigError` where there is nothing to measure.
    """
    found = now()
    goal = found.step.done if found else None
    return bool(goal and answering.value(goal, place(run), link.value))


def is_open() -> bool:
    """Whether this step has a task that is still to be done."""
    found, run = now(), LESSON_RUN.get()
    if found is None or run is None or not found.step.task:
        return False
    with suppress(ConfigError):
        return not is_done(run)
    return True
