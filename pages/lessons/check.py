"""Play a lesson as a learner does who never guesses, and say what in it cannot be.

What is checked: every link that is set, every panel that is shown, that each truth lies inside one
option with a margin for several seeds, and that each task is open before its solution and done
with it.
"""

from collections.abc import Iterator
from math import isinf
from pathlib import Path

from streamlit.testing.v1 import AppTest

from blocks import ConfigError
from blocks.lessons import answers
from blocks.lessons.answers import Answer, Values, ranked, true_option
from blocks.lessons.lesson import Ask, AskKind, Lesson, Option
from blocks.lessons.maps import lead
from blocks.lessons.place import Place
from blocks.lessons.reading import read
from pages.lessons.linted import PAGES, linted
from pages.server import cached
from pages.show import share
from pages.stage import progress
from pages.stage.progress import page_file
from pages.words.language import LANGUAGE

SEEDS, MARGIN, TIMEOUT = range(5), 0.05, 120
COMPARED = {AskKind.CHOICE, AskKind.CELL, AskKind.ORDER, AskKind.TOKEN}  # between seeds


def checked(path: Path) -> Iterator[str]:
    """Each fault of a lesson's file, as a sentence; none where all is well."""
    name, language, _suffix = path.name.split(".")
    try:
        lesson = read(path.read_text("utf-8"), id=name, language=language)
    except (ConfigError, UnicodeDecodeError) as error:
        yield from str(error).splitlines()
        return
    for step, fault in linted(lesson):
        yield f"line {step.line}, {step.title}: {fault}"
    for i, step in enumerate(lesson.steps):
        for said in played(lesson, i) if step.page in PAGES else ():
            yield f"{step.title}: {said}"


def played(lesson: Lesson, i: int) -> Iterator[str]:
    """What is wrong when a step is played."""
    step, at = lesson.steps[i], _opened(lesson, i)
    yield from _errors(at)
    if at.exception:
        return
    if step.show and share.OPEN_PANEL.of(at)[1] != step.show:
        yield f"there is no panel {step.show} on the page {step.page}"
    place = _place(at)
    if step.ask:
        _press(at, "without_guess")
        yield from _errors(at)
        found = _shown(at)
        if found is None:
            yield "nothing is measured"
            return
        if step.ask.kind in COMPARED:
            places = [place, *_of_other_seeds(place)]
            others = [answers.measured(step.ask, each) for each in places[1:]]
            yield from _unclear(step.ask, [found.truth, *others])
            if step.ask.kind is AskKind.CELL:
                yield from _no_lead(step.ask, places)
    if step.done:
        yield from _undone(at)
        if step.ask and answers.measured(step.ask, _place(at)) != answers.measured(step.ask, place):
            yield "the task changes the answer: say in `truth` what it is measured with"


def _shown(at: AppTest) -> Answer | None:
    """What was measured, in a session that has asked for one step alone."""
    return next((answer for _guess, answer in progress.MEASURED.of(at).values()), None)


def _place(at: AppTest) -> Place:
    run, text = progress.LESSON_RUN.of(at), str(at.query_params.get("text", ""))
    return Place(run, text, cached.recording, cached.model)


def _of_other_seeds(place: Place) -> Iterator[Place]:
    if not place.run.weights:
        for seed in SEEDS[1:]:
            yield place.changed(seed=seed)


def _opened(lesson: Lesson, i: int) -> AppTest:
    """A step as it is found by who comes from the one before, in the lesson's language."""
    at = AppTest.from_file(Path(__file__).parents[2] / "app.py", default_timeout=TIMEOUT)
    at.context["locale"] = lesson.language
    at = at.switch_page(page_file(lesson.steps[i].page))
    at.query_params = {"lang": lesson.language, "lesson": lesson.id, "lesson_step": str(i)}
    return at.run()


def rerun(at: AppTest) -> AppTest:
    """The page reruns. (AppTest asks for labels outside of it: say in which language they are.)"""
    language = LANGUAGE.of(at)
    if language in ("", "en"):
        return at.run()
    LANGUAGE.keep(language)
    try:
        return at.run()
    finally:
        LANGUAGE.take()


def _press(at: AppTest, key: str) -> None:
    """As a browser does, which asks for the rest where the page is blank at first."""
    at.button(key=key).click()
    if progress.TURN.of(rerun(at)):
        rerun(at)


def _errors(at: AppTest) -> Iterator[str]:
    yield from (f"error: {each.value}" for each in at.exception)
    yield from (f"refused: {each.value}" for each in (*at.error, *at.warning))


def _unclear(ask: Ask, truths: list[Values]) -> Iterator[str]:
    """Where seeds disagree, or a truth lies at the edge of its option."""
    if ask.kind is AskKind.CHOICE:
        places = {true_option(ask, truth) for truth in truths}
        values = ", ".join(f"{truth[0]:.4g}" for truth in truths)
        if None in places or len(places) > 1:
            yield f"no option holds for all seeds: measured {values}"
        elif not all(_is_inside(ask.options[next(iter(places))], t[0]) for t in truths):  # type: ignore[index]
            yield f"at the edge of its option: measured {values}"
    if ask.kind is AskKind.CELL and len({truth[:2] for truth in truths}) > 1:
        yield f"the cell depends on the seed: {truths}"
    if ask.kind in (AskKind.ORDER, AskKind.TOKEN):
        n_compared = 1 if ask.kind is AskKind.TOKEN else None
        if len({ranked(truth)[:n_compared] for truth in truths}) > 1:
            yield f"the order depends on the seed: {truths}"


def _no_lead(ask: Ask, places: list[Place]) -> Iterator[str]:
    leads = [lead(answers.measured_map(ask, each)) for each in places]
    if min(leads) < MARGIN:
        yield f"another cell is nearly as large: ahead by {', '.join(f'{x:.2g}' for x in leads)}"


def _is_inside(option: Option, value: float) -> bool:
    """Whether a value is off both ends by a part of the range, or of itself."""
    sizes = [abs(value), *([] if isinf(option.most) else [option.most - option.least])]
    edge = MARGIN * min(sizes)
    return option.least + edge <= value < option.most - edge


def _undone(at: AppTest) -> Iterator[str]:
    """A task is open at first, and done by its solution."""
    if not any(each.key == "solve_task" for each in at.button):
        yield "the task is done before anything was done"
        return
    _press(at, "solve_task")
    yield from _errors(at)
    if any(each.key == "solve_task" for each in at.button):
        yield "the solution does not do the task"
