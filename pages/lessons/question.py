"""What a question says before anybody answers: the numbers it speaks of, and what can be chosen."""

from collections.abc import Sequence
from contextlib import suppress

import streamlit as st

from blocks import ConfigError
from blocks.lessons.answers import Values, told
from blocks.lessons.formula import Formula
from blocks.lessons.lesson import Ask, AskKind
from blocks.observe.run import Run
from pages.figures import guess as guess_picture
from pages.figures.guess_cell import Table, cell_so_far
from pages.figures.theme import Picture
from pages.show.chart import show
from pages.stage import link, progress
from pages.words.language import _, say_fault


def given(wanted: Sequence[tuple[str, Formula]], run: Run, *, is_large: bool = False) -> None:
    """The numbers that an answer is made of, beside the question and not a screen away from it."""
    try:
        lines = _given(wanted, run)
    except ConfigError as error:
        st.warning(say_fault(error.faults[0]))
        return
    if is_large:
        with st.container(horizontal=True, key="given_large"):
            for line in lines:
                st.markdown(f"#### {line}", width="content")
    elif lines:
        st.markdown("  \n".join(lines))


def _given(wanted: Sequence[tuple[str, Formula]], run: Run) -> list[str]:
    found = told(wanted, progress.place(run), link.value)
    return [f"{label} = {_listed(values)}" for label, values in found]


def written(ask: Ask, run: Run) -> str:
    """All of it on paper."""
    with suppress(ConfigError):
        lines = "  \n".join(_given(ask.given, run))
        return "\n\n".join((f"**{ask.question}**", lines, _choices(ask)))
    return f"**{ask.question}**"


def _choices(ask: Ask, size: str = "") -> str:
    labels = [option.label for option in ask.options] or [*ask.labels]
    return "\n".join(f"- {size}{label}" for label in labels)


def _listed(values: Values) -> str:
    """As formulas are set, in every language; what is counted has no digits after the point.

    Each number is a formula of its own, since no line ends within one.
    """
    digits = 0 if all(each.is_integer() for each in values) else 3
    numbers = [f"{each:.{digits}f}" for each in values]
    return f"${numbers[0]}$" if len(values) == 1 else f"$({'$, $'.join(numbers)})$"


def shown_large(ask: Ask, run: Run) -> None:
    """All of it for a projector, where nobody can answer: numbers, and what to choose from."""
    given(ask.given, run, is_large=True)
    if ask.kind is AskKind.CELL:
        show(draw_map, Table(*progress.labels(ask, run)), (), key="asked_of_all")
    elif ask.kind is AskKind.CURVE:
        show(draw_curve, ask, (None,) * len(ask.xs), key="asked_of_all")
    else:
        st.markdown(_choices(ask, "### "))


def draw_map(table: Table, guess: Values) -> Picture:
    return cell_so_far(table, guess, _=_)


def draw_curve(ask: Ask, guess: tuple[float | None, ...]) -> Picture:
    return guess_picture.curve_so_far(ask, guess, _=_)
