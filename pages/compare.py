"""Two configurations side by side, and all that are kept."""

import pages.ui.entrance  # noqa: F401

from collections.abc import Callable

import streamlit as st

from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.panels.compare import listed, shared, trade_offs
from pages.panels.compare.inputs import counted_with, what_both_read
from pages.panels.compare.kept import draw_front, what_is_kept, what_one_pays
from pages.panels.compare.numbers import (
    draw_operations,
    draw_parameters,
    how_fast_here,
    what_differs,
    where_it_goes,
)
from pages.panels.compare.runs import (
    both_ran,
    one_head_of_each,
    what_passes,
    what_they_expect,
    who_reads_whom,
)
from pages.panels.compare.shared import Pair
from pages.panels.cost.shared import shape
from pages.ui import panel
from pages.ui.chart import drawn
from pages.ui.compare import beside, kept
from pages.ui.export import take_away
from pages.ui.frame import close_page, open_counting_page, section
from pages.ui.language import _
from pages.ui.link import write
from pages.ui.panel import Panel

TITLE = N_("Compare")


def main() -> None:
    """A and B, and what can be asked of them."""
    run = open_counting_page(TITLE, first_shown="stories-en-zh")
    beside.forget()  # this page draws both by itself
    mend_what_is_kept()
    pair = shared.pair(run)
    if run.interventions:
        st.caption(_("Changes made inside the model on other pages are ignored here."))
    if pair is None:
        how_to_begin()
        panel.show(of_all(run.untouched), pair)
    else:
        two_of_them(pair)
        panel.show(of_two(pair) + of_all(run.untouched), pair, files=what_to_take)
    close_page(TITLE)


def of_all(run: Run) -> tuple[Panel, ...]:
    """About all that are kept."""
    return (
        Panel("trade-off", N_("Is it worth it?"), lambda _pair: what_one_pays(run, shape().n)),
        Panel("kept", N_("What is kept?"), lambda _pair: what_is_kept(shape().n)),
    )


def of_two(pair: Pair) -> tuple[Panel, ...]:
    """About A and B: counted always, run where both can."""
    counted = (
        Panel("differences", N_("What differs?"), differences),
        Panel("where", N_("Where do they differ?"), lambda pair: where_it_goes(pair, shape().n)),
    )
    if shared.faults(pair):
        return counted
    expected = (Panel("prediction", N_("What do they expect?"), of_runs(what_they_expect)),)
    return (
        *counted,
        Panel("time", N_("Which is faster?"), of_runs(how_fast_here)),
        Panel("flow", N_("What passes?"), of_runs(what_passes)),
        Panel("heads", N_("All heads"), of_runs(who_reads_whom)),
        Panel("head", N_("One head: B − A"), of_runs(one_head_of_each)),
        *(expected if shared.predicts_alike(pair) else ()),
    )


def differences(pair: Pair) -> None:
    """The settings, and the numbers that follow from them."""
    what_differs(pair, shape().n, trade_offs.weight_format())
    both_ran(pair)


def of_runs(draw: Callable[[Pair], None]) -> Callable[[Pair], None]:
    """A panel that needs a run of both."""

    def drawn(pair: Pair) -> None:
        if both_ran(pair):
            section(draw)(pair)

    return drawn


def mend_what_is_kept() -> None:
    """What a link says of others than B and cannot be: said as for B."""
    for what in kept.mend():
        st.warning(_("Adjusted: {what}").format(what=what))
    write()


def how_to_begin() -> None:
    """Nothing is kept: what to do, and pairs to begin with."""
    st.info(shared.how_to_begin(), icon=":material/bookmark_add:")
    st.markdown(_("Or begin with a pair: A and B are set at once; then change B in the sidebar."))
    listed.ready_pairs()
    counted_with()


def two_of_them(pair: Pair) -> None:
    """A beside B, and what both read."""
    st.markdown(shared.who_is_who(pair))
    with st.expander(_("Other pairs to begin with"), icon=":material/compare_arrows:"):
        listed.ready_pairs()
    what_both_read(pair)


def what_to_take(pair: Pair) -> None:
    """Tables, pictures and configuration, to keep."""
    n = shape().n
    rows = shared.counted_rows(pair, n, trade_offs.weight_format())
    found = {
        "differences": shared.settings_frame(pair),
        "numbers": shared.numbers_frame(rows),
    }
    figures = [drawn(draw_parameters, pair), drawn(draw_operations, pair, n)]
    shown = trade_offs.candidates(pair.b), trade_offs.axes(), n
    if not trade_offs.points(*shown).empty:
        figures.append(drawn(draw_front, *shown))
    take_away(pair.b.config, found, figures, shared.caption(pair))


main()
