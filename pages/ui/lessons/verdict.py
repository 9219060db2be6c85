"""What came of a guess, in words."""

from blocks.lessons.answers import Answer, ranked, true_option
from blocks.lessons.lesson import Ask, AskKind
from pages.figures.counting import from_one
from pages.figures.guess import Guessed
from pages.ui.language import _, enumeration, literal
from pages.ui.numbers import readable


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
            return f"{guessed} {measured}"
        case AskKind.CURVE:
            return _("The solid line is what was measured.")
        case AskKind.TOKEN:
            return _said_of_a_token(found)
    return _said_of_an_order(ask, answer)


def _said_of_a_choice(ask: Ask, answer: Answer) -> str:
    truth, place = _with_unit(answer.truth[0], ask), true_option(ask, answer.truth)
    said = _("Measured: {truth}.").format(truth=truth)
    if place is not None:
        text = _("Measured: {truth}, so “{option}”.")
        said = text.format(truth=truth, option=ask.options[place].label)
    if not answer.was_guessed:
        return said
    guess = ask.options[int(answer.guess[0])].label
    guessed = _("Your guess: “{guess}”.").format(guess=guess)
    return f"{guessed} {said}"


def _with_unit(value: float, ask: Ask) -> str:
    return f"{readable(value)} {ask.unit}".rstrip()


def _said_of_a_token(found: Guessed) -> str:
    truth = ranked(found.answer.truth)[0]
    said = _("Measured: most on {token}.").format(token=_token(found, truth))
    if not found.answer.was_guessed:
        return said
    guess = _token(found, int(found.answer.guess[0]))
    guessed = _("Your guess: {guess}.").format(guess=guess)
    return f"{guessed} {said}"


def _token(found: Guessed, place: int) -> str:
    """A token with its place; of another text than was guessed about, the place alone."""
    labels = found.labels if len(found.labels) == len(found.answer.truth) else ()
    return f"{from_one(place)} {literal(labels[place])}" if labels else str(from_one(place))


def _said_of_an_order(ask: Ask, answer: Answer) -> str:
    order = enumeration(ask.labels[place] for place in ranked(answer.truth))
    said = _("Measured, the most first: {order}.").format(order=order)
    if not answer.was_guessed:
        return said
    guess = enumeration(ask.labels[int(place)] for place in answer.guess)
    guessed = _("Your guess: {guess}.").format(guess=guess)
    return f"{guessed} {said}"
