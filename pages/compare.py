"""Two configurations side by side, and all that are kept."""

import streamlit as st

from blocks.faults import N_
from pages.sections.compare_list import draw_front, what_is_kept, what_one_pays
from pages.sections.compare_numbers import (
    draw_operations,
    draw_parameters,
    how_fast_here,
    what_differs,
    where_it_goes,
)
from pages.sections.compare_runs import both_ran, how_they_run
from pages.ui.chart import drawn
from pages.ui.compare import beside, kept, listed, measured, sides, tables, trade_offs, words
from pages.ui.compare.inputs import counted_with, what_both_read
from pages.ui.compare.sides import Pair
from pages.ui.cost.chosen import shape
from pages.ui.explain import contents
from pages.ui.export import take_away
from pages.ui.frame import close_page, open_counting_page
from pages.ui.language import _
from pages.ui.link import write

TITLE = N_("Compare")
COUNTED = {
    "differs": N_("What differs"),
    "where": N_("Where they differ"),
}
RUN = {
    "pair_time": N_("Time here"),
    "pair_flow": N_("What passes"),
    "pair_heads": N_("All heads"),
    "pair_head": N_("One head: A, B, B − A"),
}
EXPECTED = {"pair_expected": N_("What they expect")}
ALL = {
    "trade_off": N_("What one pays for what"),
    "kept_list": N_("What is kept"),
}


def main() -> None:
    """The story of the page, from top to bottom."""
    run = open_counting_page(TITLE, first_shown="stories-en-zh")
    beside.forget()  # this page draws both by itself
    mend_what_is_kept()
    st.caption(_("A is what you keep, B is what is set now; both read the same text and seed."))
    pair = sides.pair(run)
    if run.interventions:
        st.caption(_("What is changed inside the model on other pages is left aside here."))
    if pair is None:
        how_to_begin()
    else:
        two_of_them(pair)
    n = shape().n
    what_one_pays(run.untouched, n)
    what_is_kept(n)
    if pair is not None:
        what_to_take(pair, n)
    close_page(TITLE)


def mend_what_is_kept() -> None:
    """What a link says of others than B and cannot be: said as for B."""
    for what in kept.mend():
        st.warning(_("Adjusted: {what}").format(what=what))
    write()


def how_to_begin() -> None:
    """Nothing is kept: what to do, and pairs to begin with."""
    st.info(words.how_to_begin(), icon=":material/bookmark_add:")
    st.markdown(_("Or begin with a pair: A and B are set at once, and you change B at the left."))
    listed.ready_pairs()
    counted_with()


def two_of_them(pair: Pair) -> None:
    """A beside B: settings, counts, time, and what passes in them."""
    st.markdown(words.who_is_who(pair))
    with st.expander(_("Other pairs to begin with"), icon=":material/compare_arrows:"):
        listed.ready_pairs()
    what_both_read(pair)
    n = shape().n
    contents({**COUNTED, **ways_to_runs(pair), **ALL})
    what_differs(pair, n, trade_offs.weight_format())
    where_it_goes(pair, n)
    if both_ran(pair):
        how_fast_here(pair)
        how_they_run(pair)


def ways_to_runs(pair: Pair) -> dict[str, str]:
    """The sections that need a run of both."""
    if sides.faults(pair):
        return {}
    return {**RUN, **(EXPECTED if measured.predicts_alike(pair) else {})}


def what_to_take(pair: Pair, n: int) -> None:
    """Tables, pictures and configuration, to keep."""
    st.subheader(_("Take it with you"))
    rows = tables.counted_rows(pair, n, trade_offs.weight_format())
    found = {
        "differences": tables.settings_frame(pair),
        "numbers": tables.numbers_frame(rows),
    }
    figures = [drawn(draw_parameters, pair), drawn(draw_operations, pair, n)]
    shown = trade_offs.candidates(pair.b), trade_offs.axes(), n
    if not trade_offs.points(*shown).empty:
        figures.append(drawn(draw_front, *shown))
    take_away(pair.b.config, found, figures, words.caption(pair))


main()
