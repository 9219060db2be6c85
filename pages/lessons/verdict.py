"""What came of a guess, in words."""

from collections.abc import Iterator

import pandas as pd

from blocks.lessons.answers import (
    Answer,
    Closeness,
    Values,
    closeness,
    farthest,
    fits,
    is_right,
    ranked,
    tolerated,
    true_option,
)
from blocks.lessons.lesson import Ask, AskKind
from blocks.model.faults import N_
from pages.figures.counting import from_one
from pages.figures.guess import Guessed
from pages.figures.numbers import readable, with_unit
from pages.stage.progress import Now
from pages.words.language import _, enumeration, literal, ngettext, sentences

OF_A_CURVE = {
    Closeness.EXACT: N_("**Exactly right.**"),
    Closeness.CLOSE: N_("Your curve is close: it is furthest off at {x}, by {gap}."),
    Closeness.FAR: N_(
        "Your curve is not close: it is furthest off at {x}, by {gap}, and close is {near} or less."
    ),
}


def said(found: Guessed) -> str:
    """What was measured, and what the guess was."""
    ask, answer = found.ask, found.answer
    match ask.kind:
        case AskKind.CHOICE:
            return _said_of_a_choice(ask, answer)
        case AskKind.NUMBER:
            measured = _("Measured: {truth}.").format(truth=_with_unit(answer.truth[0], ask))
            if not answer.was_guessed:
                return measured
            guessed = _("Your guess: {guess}.").format(guess=_with_unit(answer.guess[0], ask))
            return _joined(guessed, measured)
        case AskKind.CURVE:
            return _said_of_a_curve(ask, answer)
        case AskKind.TOKEN:
            return _said_of_a_token(found)
        case AskKind.CELL:
            return _said_of_a_cell(found)
    return _said_of_an_order(ask, answer)


def _said_of_a_curve(ask: Ask, answer: Answer) -> str:
    if not answer.was_guessed:
        return _("The line shows the measured values.")
    measured = _("The solid line shows the measured values.")
    place = f"{ask.x_label} {ask.xs[farthest(answer)[0]]:g}".strip()
    text = _(OF_A_CURVE[closeness(ask, answer)])
    near = _distance(ask, tolerated(ask, answer))
    return _joined(text.format(gap=gap(ask, answer), x=place, near=near), measured)


def is_exact_curve(found: Guessed) -> bool:
    """Whether a curve was guessed, and exactly."""
    ask, answer = found.ask, found.answer
    is_guessed = ask.kind is AskKind.CURVE and answer.was_guessed
    return is_guessed and closeness(ask, answer) is Closeness.EXACT


def gap(ask: Ask, answer: Answer) -> str:
    """By how much a guessed curve is off where it is farthest from the truth."""
    return _distance(ask, farthest(answer)[1])


def _distance(ask: Ask, size: float) -> str:
    found = readable(size)
    if ask.unit == "%":
        return _("{n} percentage points").format(n=found)
    return with_unit(found, ask.unit) if len(ask.unit) <= 1 else found  # a sign, or what it is


def points(ask: Ask, answer: Answer) -> pd.DataFrame:
    """What was guessed and what was measured at each point of a curve."""
    guessed = {_("guessed"): map(readable, answer.guess)} if answer.was_guessed else {}
    columns = {
        ask.x_name or "x": (f"{x:g}" for x in ask.xs),
        **guessed,
        _("measured"): map(readable, answer.truth),
    }
    return pd.DataFrame({name: list(texts) for name, texts in columns.items()})


def counted(now: Now) -> Iterator[str]:
    """How good the guesses of a lesson were: those that can be right, curves, and what is left."""
    asked = [(i, step.ask) for i, step in enumerate(now.lesson.steps) if step.ask]
    found = [(i, ask, now.answers[i]) for i, ask in asked if i in now.answers]
    judged = [is_right(ask, answer) for _i, ask, answer in found]
    n, right = sum(each is not None for each in judged), judged.count(True)
    text = ngettext("{right} of {n} guess was right.", "{right} of {n} guesses were right.", n)
    if n:
        yield text.format(right=right, n=n)
    for i, ask, answer in found:
        if ask.kind is AskKind.CURVE and answer.was_guessed:
            text = _("Your curve in step {step} was off by at most {gap}.")
            if is_exact_curve(Guessed(ask, answer)):
                text = _("Your curve in step {step} was exactly right.")
            yield text.format(step=from_one(i), gap=gap(ask, answer))
    n_guessed = sum(is_guess(ask, now.guesses.get(i)) for i, ask in asked if i not in now.answers)
    if n := n_guessed:
        text = ngettext(
            "{n} guess has not been compared with a measurement here: open its step again.",
            "{n} guesses have not been compared with measurements here: open their steps again.",
            n,
        )
        yield text.format(n=n)
    n_guessed += sum(answer.was_guessed for _i, _ask, answer in found)
    if rest := len(asked) - n_guessed:
        text = ngettext(
            "You made no guess for {n} question.", "You made no guess for {n} questions.", rest
        )
        yield text.format(n=rest)


def is_guess(ask: Ask, guess: Values | None) -> bool:
    return bool(guess) and guess is not None and fits(ask, guess)


def _joined(guessed: str, measured: str) -> str:
    return sentences(guessed, measured)


def _said_of_a_choice(ask: Ask, answer: Answer) -> str:
    truth, place = _with_unit(answer.truth[0], ask), true_option(ask, answer.truth)
    label = ask.options[place].label if place is not None else ""
    if is_right(ask, answer):
        text = _("Your guess “{option}” agrees with the measurement: {truth}.")
        return text.format(option=label, truth=truth)
    text = _("The measured value is {truth}. For this text, none of the answers is right.")
    if label:
        text = _("The measured value is {truth}, so “{option}” is right.")
    said = text.format(truth=truth, option=label)
    if not answer.was_guessed:
        return said
    guess = ask.options[int(answer.guess[0])].label
    guessed = _("Your guess: “{guess}”.").format(guess=guess)
    return _joined(guessed, said)


def _with_unit(value: float, ask: Ask) -> str:
    return with_unit(readable(value), ask.unit)


def _said_of_a_token(found: Guessed) -> str:
    truth = ranked(found.answer.truth)[0]
    said = _("The measured value is largest at {token}.").format(token=_token(found, truth))
    if not found.answer.was_guessed:
        return said
    guess = _token(found, int(found.answer.guess[0]))
    guessed = _("Your guess: {guess}.").format(guess=guess)
    return _joined(guessed, said)


def _token(found: Guessed, place: int) -> str:
    """A token with its place; of another text than was guessed about, the place alone."""
    if len(found.labels) != len(found.answer.truth):
        return str(from_one(place))
    return _("{token} (token {n})").format(token=literal(found.labels[place]), n=from_one(place))


def _said_of_a_cell(found: Guessed) -> str:
    measured = _("The measured value is largest in {cell}.").format(
        cell=_cell(found, found.answer.truth)
    )
    if not found.answer.was_guessed:
        return measured
    guess = _cell(found, found.answer.guess)
    return _joined(_("Your guess: {guess}.").format(guess=guess), measured)


def _cell(found: Guessed, cell: Values) -> str:
    """A cell by the names of its row and column; of another text than now, by their numbers."""
    row, column = int(cell[0]), int(cell[1])
    if (len(found.rows), len(found.labels)) != found.answer.truth[2:]:
        return _("row {row}, column {column}").format(row=from_one(row), column=from_one(column))
    return _("row {row} ({query}), column {column} ({key})").format(
        row=from_one(row),
        query=literal(found.rows[row]),
        column=from_one(column),
        key=literal(found.labels[column]),
    )


def _said_of_an_order(ask: Ask, answer: Answer) -> str:
    order = enumeration(ask.labels[place] for place in ranked(answer.truth))
    said = _("Measured, largest first: {order}.").format(order=order)
    if not answer.was_guessed:
        return said
    guess = enumeration(ask.labels[int(place)] for place in answer.guess)
    guessed = _("Your guess: {guess}.").format(guess=guess)
    return _joined(guessed, said)
