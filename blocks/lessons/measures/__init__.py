"""What a lesson may measure, by name: functions of a place, which give a number or several."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from blocks.lessons.measures import (
    attention,
    counts,
    known,
    layers,
    phases,
    predictions,
    texts,
    trained,
)
from blocks.lessons.place import Place, can_change
from blocks.model.faults import N_, ConfigError, Fault

ROOMS = (texts, counts, attention, layers, predictions, trained, phases, known)
Measure = Callable[..., Any]
MEASURES: Mapping[str, Measure] = {
    name: function
    for room in ROOMS
    for name, function in vars(room).items()
    if inspect.isfunction(function) and function.__module__ == room.__name__ and name[0] != "_"
}
UNMEASURED = N_("{name} cannot be measured here: {why}")
LACKING = N_(
    "There is nothing to measure here: this model or text does not contain what {name} measures"
)
NO_MEASURE = N_("There is no measurement named {name}: use one of {known}")
NO_ARGUMENT = N_(
    "The measurement {name} has no argument {argument}: it takes {known} and model fields"
)
CANNOT_BE = (
    *(IndexError, KeyError, TypeError, ValueError, ArithmeticError),
    *(AttributeError, RuntimeError),  # of a model that is no GPT, whose mask or logits are others
)


def arguments(name: str) -> tuple[str, ...]:
    """What a measurement wants to know beside the place."""
    return tuple(inspect.signature(MEASURES[name]).parameters)[1:]


def faults(name: str, given: tuple[str, ...]) -> list[Fault]:
    """What is wrong with a call."""
    if name not in MEASURES:
        return [Fault(NO_MEASURE, {"name": name, "known": ", ".join(sorted(MEASURES))})]
    known = arguments(name)
    wrong = [each for each in given if each not in known and not can_change(each)]
    listed = ", ".join(known) or "-"
    return [Fault(NO_ARGUMENT, {"name": name, "argument": each, "known": listed}) for each in wrong]


def measure(place: Place, name: str, given: Mapping[str, Any]) -> Any:
    """A named measurement at a place: a number, or a tuple of numbers.

    What is no argument of its own changes the model first: `parameters(n_heads=16)`.
    Raises `ConfigError` where there is no such measurement, or nothing to measure.
    """
    if found := faults(name, tuple(given)):
        raise ConfigError(found)
    own = set(arguments(name))
    changes = {key: value for key, value in given.items() if key not in own}
    try:
        here = place.changed(**changes) if changes else place
        return MEASURES[name](here, **{key: v for key, v in given.items() if key in own})
    except ConfigError:
        raise
    except CANNOT_BE as error:
        raise ConfigError([_unmeasured(name, error)]) from error


def _unmeasured(name: str, error: Exception) -> Fault:
    """Why it cannot be: only a `ValueError` is a sentence that a reader can use."""
    if isinstance(error, ValueError):
        return Fault(UNMEASURED, {"name": name, "why": str(error)[:120]})
    return Fault(LACKING, {"name": name})
