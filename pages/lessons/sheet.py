"""What a class has guessed, as a table to keep: a row for each guess, no names."""

import csv
import io
from collections.abc import Iterator

import streamlit as st

from blocks.lessons.answers import Answer, Values, fits, is_right, right_guess
from blocks.lessons.lesson import Ask, AskKind
from blocks.observe.run import Run
from pages.figures.counting import from_one
from pages.figures.numbers import readable, with_unit
from pages.server import machine
from pages.show.export import as_this_reader
from pages.stage import link, progress
from pages.stage.progress import Now
from pages.words.language import _

Labels = tuple[tuple[str, ...], tuple[str, ...]]
BEGINS = "\ufeff"  # by which spreadsheets know UTF-8


def in_words(ask: Ask, guess: Values, labels: Labels = ((), ())) -> str:
    """A guess as it was made; `labels` of rows and columns, where places of them are guessed."""
    rows, columns = labels
    match ask.kind:
        case AskKind.CHOICE:
            return ask.options[int(guess[0])].label
        case AskKind.ORDER:
            return " > ".join(ask.labels[int(place)] for place in guess)
        case AskKind.NUMBER:
            return with_unit(readable(guess[0]), ask.unit)
        case AskKind.CURVE:
            points = zip(ask.xs, guess, strict=True)
            return " · ".join(f"{ask.x_label} {x:g}: {readable(y)}".strip() for x, y in points)
        case AskKind.TOKEN:
            return _named(columns, guess[0])
    return " · ".join(_named(names, i) for names, i in zip((rows, columns), guess, strict=True))


def _named(names: tuple[str, ...], place: float) -> str:
    i = int(place)
    return f"{from_one(i)} {names[i] if i < len(names) else ''}".strip()


def offer(now: Now, run: Run | None) -> None:
    """The button that saves all guesses of the room."""
    st.download_button(
        _("Save the guesses"),
        as_this_reader(lambda: written(now, run)),
        file_name=f"blockscope-{now.lesson.id}-{link.value('room')}.csv",
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
        type="tertiary",
        key="save_guesses",
    )


def written(now: Now, run: Run | None) -> str:
    """The table as CSV. What was not measured here yet has no answer beside it."""
    file = io.StringIO()
    table = csv.writer(file)
    head = (_("Learner"), _("Step"), _("Question"), _("Guess"), _("Measured"), _("Correct"))
    table.writerow(head)
    table.writerows(_rows(now, run))
    return BEGINS + file.getvalue()


def _rows(now: Now, run: Run | None) -> Iterator[tuple[object, ...]]:
    for learner, i, guess in machine.rooms().sheet(link.value("room")):
        ask = now.lesson.steps[i].ask if i < len(now.lesson.steps) else None
        if ask is None or not guess or not fits(ask, guess):
            continue
        labels = progress.labels(ask, run) if run and i == now.i else ((), ())
        said = (in_words(ask, guess, labels), *_truth(ask, guess, now.answers.get(i), labels))
        yield (from_one(learner), from_one(i), ask.question, *said)


def _truth(ask: Ask, guess: Values, found: Answer | None, labels: Labels) -> tuple[str, str]:
    """What was measured, and whether the guess was right; nothing where it was not measured."""
    if found is None:
        return "", ""
    true = right_guess(ask, found.truth)
    right = is_right(ask, Answer(guess, found.truth))
    return in_words(ask, true, labels) if true else "", "" if right is None else str(int(right))
