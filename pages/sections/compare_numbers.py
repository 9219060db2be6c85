"""What differs between A and B, in settings and in numbers; counted, and measured here."""

import streamlit as st

from blocks.cost import paired_time, summary
from blocks.inspection import settings
from pages.figures import pair as pictures
from pages.ui.chart import show
from pages.ui.compare import frames, measured, sides, tables, words
from pages.ui.compare.sides import Pair
from pages.ui.cost.measured_controls import measure_button
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.link import value
from pages.ui.steps import in_steps


def what_differs(pair: Pair, n: int, weight_format: str) -> None:
    """The settings that differ, and what follows from them."""
    code = (settings.differing, summary.summarise)
    explained(("comparing", "flops"), code, key="differs").info(
        words.how_many_differ(pair), icon=":material/compare_arrows:"
    )
    tables.settings(pair)
    st.info(words.dearer(pair, n, weight_format), icon=":material/lightbulb:")
    tables.numbers(tables.counted_rows(pair, n, weight_format))
    note(words.numbers_note(n, weight_format))


@section
def where_it_goes(pair: Pair, n: int) -> None:
    """Parameters by kind and FLOPs by operation, two by two."""
    explained(("parameters", "flops"), key="where")
    left, right = st.columns(2)
    with left:
        show(draw_parameters, pair, key="pair_parameters", alt=words.parameters_alt)
    with right:
        show(draw_operations, pair, n, key="pair_operations", alt=words.operations_alt)


def draw_parameters(pair: Pair):
    """Parameters by kind."""
    table, title = frames.parameters(pair), _("Parameters by kind")
    return pictures.bars(table, sides.names(pair), title=title, unit=_("parameters"))


def draw_operations(pair: Pair, n: int):
    """FLOPs of a token by operation."""
    title = _("FLOPs per token read, n = {n:,}").format(n=n)
    return pictures.bars(
        frames.operations(pair, n), sides.names(pair), title=title, unit=_("FLOPs")
    )


@section
def how_fast_here(pair: Pair) -> None:
    """One forward pass of each, measured in turn."""
    again = _("Measure again")
    with explained(("comparing",), (paired_time.measure_round,), key="pair_time"):
        is_asked = measure_button("measure_pair", _("Measure both here"), again=again)
    if not is_asked:
        note(words.time_note(pair))
        return
    attempt = value("measure_pair")
    done = in_steps(
        measured.rounds(pair, attempt), what=(pair, attempt), key="pair_rounds", is_asked=True
    )
    if not done.found:
        return
    found = measured.times(done.found)
    st.info(words.time_sentence(pair, found), icon=":material/timer:")
    tables.numbers(tables.time_rows(found))
    note(words.time_note(pair))
