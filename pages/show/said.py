"""What is said of a run beside its pictures; of A as well, where it stands beside B."""

from collections.abc import Callable, Hashable
from typing import Any

import streamlit as st

from pages.show import beside
from pages.show.chart import CANNOT_BE_DRAWN
from pages.stage import progress
from pages.words.language import _, closed_up


def say(
    describe: Callable[..., str], *values: Hashable, facts: Callable[..., Any] | None = None
) -> None:
    """Say `describe(facts(*values))`, or without `facts` `describe(*values)`.

    `values` name the run, and nothing that was read off it before.
    """
    if not progress.now():
        tell(closed_up(of_both(describe, values, facts)))


def tell(text: str) -> None:
    """Say a sentence beside the pictures.

    In a lesson its card says what there is to see: a second help beside it keeps from thinking
    (Eckhardt et al. 2013).
    """
    if not progress.now():
        st.info(text, icon=":material/lightbulb:")


def of_both(
    describe: Callable[..., str], values: tuple[Hashable, ...], facts: Callable[..., Any] | None
) -> str:
    """What is said of the run of these values; and of A, where it says something else."""

    def said_of(given: tuple[Hashable, ...]) -> str:
        return describe(facts(*given)) if facts else describe(*given)

    said, other = said_of(values), beside.with_a(values)
    if other is None:
        return said
    try:
        said_of_a = said_of(other)
    except CANNOT_BE_DRAWN:
        return said
    if said_of_a == said:
        return _("Same for A and B: {said}").format(said=said)
    name = beside.name_of_a()
    return f"**A** · {name}: {said_of_a}\n\n**B**: {said}"
