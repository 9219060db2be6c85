"""What is wrong with a lesson before anything runs: what it names that is not there."""

from collections.abc import Iterator
from pathlib import Path

from blocks.lessons.lesson import Ask, Lesson, Option, Step
from blocks.lessons.measures import faults
from blocks.model.faults import N_, Fault
from pages.stage.wanted import WRITTEN
from pages.state.fields import FIELDS

PAGES = frozenset(path.stem for path in Path(__file__).parents[1].glob("*.py"))
NO_PAGE = N_("there is no page {name}")
NO_SETTING = N_("{name} is not a setting")
CANNOT_BE = N_("{name}={value} is not valid")
UNKNOWN = N_("unknown name: {name}")
OVERLAP = N_("options overlap")


def linted(lesson: Lesson) -> Iterator[tuple[Step, Fault]]:
    for step in lesson.steps:
        yield from ((step, fault) for fault in unplayed(step))


def unplayed(step: Step) -> Iterator[Fault]:
    """What is wrong with a step."""
    if step.page not in PAGES:
        yield Fault(NO_PAGE, {"name": step.page})
    for name, text in (*step.set, *step.solution):
        yield from _setting(name, text)
    asked = step.ask.truths if step.ask else ()
    told = (formula for _label, formula in (*(step.ask.given if step.ask else ()), *step.so_far))
    read_off = (*told, *([step.done] if step.done else ()))
    for formula in (*asked, *read_off):
        known = FIELDS if formula in read_off else ("x",)
        yield from (Fault(UNKNOWN, {"name": n}) for n in formula.names if n not in known)
        yield from (fault for call in formula.calls for fault in faults(*call))
    if step.ask and _overlap(step.ask):
        yield Fault(OVERLAP)


def _setting(name: str, text: str) -> Iterator[Fault]:
    """What is wrong with a part of a link."""
    if name == WRITTEN:
        return
    if name not in FIELDS:
        yield Fault(NO_SETTING, {"name": name})
        return
    try:
        FIELDS[name].read(text)
    except ValueError:
        yield Fault(CANNOT_BE, {"name": name, "value": text})


def _overlap(ask: Ask) -> bool:
    return any(_share(a, b) for a in ask.options for b in ask.options if a is not b)


def _share(a: Option, b: Option) -> bool:
    return a.least < b.most and b.least < a.most
