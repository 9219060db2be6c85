"""What was guessed, and what was measured then."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NoReturn

from blocks.lessons.formula import Formula
from blocks.lessons.lesson import LARGEST, Ask, AskKind
from blocks.lessons.maps import MOST_SIDE, Map, top
from blocks.lessons.measures import measure
from blocks.lessons.place import Place
from blocks.model.faults import N_, ConfigError, Fault

DIGITS, LONGEST, MOST_VALUES, MOST_STEPS = 4, 2_000, 64, 12
NEAR, UNSEEN = 0.1, 0.01  # of the height of a chart; of what is near
# Older links also say what was measured, which anybody can write: it is passed over.
ENTRY = re.compile(r"(\d{1,2}):([-+.\de_]*)(?:=[-+.\de_]*)?", re.ASCII)
NOT_FINITE = N_("There is nothing to measure here: {formula} is not a finite number")
NO_MAP = N_("There is no cell to mark: {formula} is not a map")
TOO_LARGE = N_(
    "The map of {formula} is too large to mark a cell in: it may have at most {most} × "
    "{most} tokens. Shorten the text"
)
NO_NAME = N_("{name} is not recognized")
Values = tuple[float, ...]


class Closeness(StrEnum):
    """How near a guessed curve comes: no gap to be seen, at most a tenth of the chart, or more."""

    EXACT = "exact"
    CLOSE = "close"
    FAR = "far"


@dataclass(frozen=True)
class Answer:
    """A guess beside the truth.

    Of a choice the guess is the number of an option, of an order the options from most to least,
    of a token its place, of a cell its row and column; of a curve a value at each x. Empty: shown
    without a guess. The truth is what was measured; of a token the weight of each, of an order the
    value of each, of a cell its row and column and how many of both there are.
    """

    guess: Values
    truth: Values

    @property
    def was_guessed(self) -> bool:
        """Whether there was a guess at all."""
        return bool(self.guess)


def measured(ask: Ask, place: Place) -> Values:
    """Measure the truth at a place. Raises `ConfigError` where it cannot be measured there."""
    if ask.kind is AskKind.CELL:
        found = _cell(measured_map(ask, place))
    elif ask.kind is AskKind.CURVE:
        found = [_of(ask.truths[0], place, x) for x in ask.xs]
    elif ask.kind is AskKind.TOKEN:
        found = [*_all_of(ask.truths[0], place)]
    else:
        found = [_of(each, place) for each in ask.truths]
    return tuple(found)


def told(
    given: Sequence[tuple[str, Formula]], place: Place, named: Callable[[str], Any]
) -> tuple[tuple[str, Values], ...]:
    """What is told with a question or a task, with its numbers; `named` as in `value`.

    Raises `ConfigError` as above.
    """
    return tuple((label, _numbers_of(formula, place, named)) for label, formula in given)


def _numbers_of(formula: Formula, place: Place, named: Callable[[str], Any]) -> Values:
    found = value(formula, place, named)
    several = found if isinstance(found, tuple) else (found,)
    return tuple(_finite(each, formula) for each in several[:MOST_VALUES])


def measured_map(ask: Ask, place: Place) -> Map:
    """The map of which a cell is asked for. Raises `ConfigError` where it cannot be measured."""
    formula = ask.truths[0]
    found = value(formula, place, _no_name)
    if not isinstance(found, tuple) or not all(isinstance(row, tuple) for row in found):
        raise ConfigError([Fault(NO_MAP, {"formula": formula.text})])
    if not 0 < max(len(found), *map(len, found)) <= MOST_SIDE:
        raise ConfigError([Fault(TOO_LARGE, {"formula": formula.text, "most": MOST_SIDE})])
    return tuple(tuple(_finite(each, formula) for each in row) for row in found)


def _cell(found: Map) -> list[float]:
    return [*map(float, (*top(found), len(found), len(found[0])))]


def value(formula: Formula, place: Place, named: Callable[[str], Any]) -> Any:
    """A formula at a place; `named` gives what the state says."""
    return formula.value(named, lambda name, given: measure(place, name, given))


def _of(formula: Formula, place: Place, x: float | None = None) -> float:
    def named(name: str) -> float:
        if name == "x" and x is not None:
            return int(x) if x == int(x) else x
        return _no_name(name)

    return _finite(value(formula, place, named), formula)


def _all_of(formula: Formula, place: Place) -> Values:
    found = value(formula, place, _no_name)
    if not isinstance(found, tuple):
        raise ConfigError([Fault(NOT_FINITE, {"formula": formula.text})])
    return tuple(_finite(each, formula) for each in found[:MOST_VALUES])


def _no_name(name: str) -> NoReturn:
    raise ConfigError([Fault(NO_NAME, {"name": name})])


def _finite(found: Any, formula: Formula) -> float:
    if not isinstance(found, int | float) or not math.isfinite(found):
        raise ConfigError([Fault(NOT_FINITE, {"formula": formula.text})])
    return float(found)


def true_option(ask: Ask, truth: Values) -> int | None:
    """The option that holds of what was measured; None where none does."""
    holding = (i for i, option in enumerate(ask.options) if option.holds(truth[0]))
    return next(holding, None)


def ranked(truth: Values) -> tuple[int, ...]:
    """The places of values from most to least."""
    return tuple(sorted(range(len(truth)), key=lambda i: -truth[i]))


def right_guess(ask: Ask, truth: Values) -> Values:
    """The guess that would have been right; empty where no option holds."""
    match ask.kind:
        case AskKind.CHOICE:
            place = true_option(ask, truth)
            return () if place is None else (float(place),)
        case AskKind.ORDER:
            return tuple(map(float, ranked(truth)))
        case AskKind.TOKEN:
            return (float(ranked(truth)[0]),)
        case AskKind.CELL:
            return truth[:2]
    return truth


def farthest(answer: Answer) -> tuple[int, float]:
    """Which point of a guessed curve is farthest from what was measured, and by how much."""
    gaps = [abs(y - truth) for y, truth in zip(answer.guess, answer.truth, strict=True)]
    return ranked(tuple(gaps))[0], max(gaps)


def closeness(ask: Ask, answer: Answer) -> Closeness:
    """How near a guessed curve comes to what was measured, at its worst point."""
    share = farthest(answer)[1] / tolerated(ask, answer)
    if share <= UNSEEN:
        return Closeness.EXACT
    return Closeness.CLOSE if share <= 1 else Closeness.FAR


def tolerated(ask: Ask, answer: Answer) -> float:
    """By how much a guessed curve may be off and is close: a tenth of the height of the chart."""
    ends = (ask.least, ask.most, *answer.truth)
    return NEAR * (max(ends) - min(ends))


def is_right(ask: Ask, answer: Answer) -> bool | None:
    """Whether a guess was right, a number within its tolerance; None of a curve, or none."""
    if not answer.was_guessed:
        return None
    match ask.kind:
        case AskKind.CHOICE:
            return int(answer.guess[0]) == true_option(ask, answer.truth)
        case AskKind.ORDER:
            return tuple(map(int, answer.guess)) == ranked(answer.truth)
        case AskKind.TOKEN:
            return int(answer.guess[0]) == ranked(answer.truth)[0]
        case AskKind.CELL:
            return answer.guess == answer.truth[:2]
        case AskKind.NUMBER:
            return abs(answer.guess[0] - answer.truth[0]) <= ask.tolerance * abs(answer.truth[0])
    return None


def fits(ask: Ask, guess: Values, sides: tuple[int, int] = (MOST_SIDE, MOST_VALUES)) -> bool:
    """Whether what a link or a stranger sends can be a guess at this question, or none at all.

    `sides`: how many rows and columns, or tokens, there are to choose from.
    """
    if not guess:
        return True
    if ask.kind is AskKind.NUMBER:
        return len(guess) == 1
    if ask.kind is AskKind.CURVE:
        return len(guess) == len(ask.xs)
    return _are_places(guess, _choices(ask, sides)) and (
        ask.kind is not AskKind.ORDER or len({*guess}) == len(guess)
    )


def _choices(ask: Ask, sides: tuple[int, int]) -> tuple[int, ...]:
    """From how many each number of a guess is chosen."""
    match ask.kind:
        case AskKind.CHOICE:
            return (len(ask.options),)
        case AskKind.ORDER:
            return (len(ask.labels),) * len(ask.labels)
        case AskKind.TOKEN:
            return sides[1:]
    return sides


def _are_places(guess: Values, choices: tuple[int, ...]) -> bool:
    each_is = (x == int(x) and 0 <= x < n for x, n in zip(guess, choices, strict=False))
    return len(guess) == len(choices) and all(each_is)


def sides(ask: Ask, truth: Values) -> tuple[int, int]:
    """Rows and columns of what was measured; of tokens one row."""
    return (int(truth[2]), int(truth[3])) if ask.kind is AskKind.CELL else (1, len(truth))


def judged(ask: Ask, guess: Values, truth: Values) -> Answer:
    """A guess beside the truth; one that names what is not there is none."""
    return Answer(guess if fits(ask, guess, sides(ask, truth)) else (), truth)


def written(guesses: Mapping[int, Values]) -> str:
    """Guesses by the number of their step, from 0, as a link carries them."""
    return ";".join(f"{step}:{written_numbers(guess)}" for step, guess in sorted(guesses.items()))


def written_numbers(values: Sequence[float]) -> str:
    """Numbers as a link carries them."""
    return "_".join(f"{each:.{DIGITS}g}" for each in values)


def read(text: str) -> dict[int, Values]:
    """The inverse of `written`; what is no guess is left out."""
    found = {}
    for entry in text[:LONGEST].split(";"):
        if match := ENTRY.fullmatch(entry):
            step, guess = int(match[1]), numbers_of(match[2])
            if guess is not None and step < MOST_STEPS:
                found[step] = guess
    return found


def numbers_of(text: str) -> Values | None:
    """The inverse of `written_numbers`; None where the text holds something else, or too much."""
    try:
        found = tuple(float(each) for each in text.split("_")) if text else ()
    except ValueError:
        return None
    is_good = len(found) <= MOST_VALUES and all(abs(each) <= LARGEST for each in found)
    return found if is_good else None
