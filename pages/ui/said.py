"""What is said of a run beside its pictures; of A as well, where it stands beside B."""

from collections.abc import Callable, Hashable

import streamlit as st

from pages.ui.chart import CANNOT_BE_DRAWN
from pages.ui.compare import beside
from pages.ui.language import _


def say(describe: Callable[..., str], *values: Hashable) -> None:
    """Say `describe(*values)`; `values` name the run, and nothing that was read off it before."""
    st.info(_of_both(describe, values), icon=":material/lightbulb:")


def _of_both(describe: Callable[..., str], values: tuple[Hashable, ...]) -> str:
    said, other = describe(*values), beside.with_a(values)
    if other is None:
        return said
    try:
        said_of_a = describe(*other)
    except CANNOT_BE_DRAWN:
        return said
    if said_of_a == said:
        return _("A and B alike: {said}").format(said=said)
    name = beside.name_of_a()
    return f"**A** · {name}: {said_of_a}\n\n**B**: {said}"
