"""Two configurations side by side, and all that are kept."""

import pages.page.entrance  # noqa: F401

import functools
from collections.abc import Callable

import streamlit as st

from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures.theme import Picture
from pages.page import panel
from pages.page.frame import counted_run, section, show_page
from pages.page.panel import Panel
from pages.panels.compare import (
    differences,
    flow,
    head,
    heads,
    pairs,
    prediction,
    runs,
    shared,
    speed,
    trade_off,
    where,
)
from pages.panels.compare import kept as kept_list
from pages.panels.compare.inputs import counting_controls, what_both_read
from pages.panels.compare.shared import Pair
from pages.show import beside
from pages.show.chart import drawn
from pages.show.choices import chooses
from pages.show.export import take_away
from pages.show.mixers import no_attention
from pages.stage import kept
from pages.stage.link import write
from pages.state.values import State
from pages.words.language import _

TITLE = N_("Compare")


def body() -> None:
    """A and B, and what can be asked of them."""
    run = counted_run(panel.fields(COUNTED))
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


def of_all(run: Run) -> tuple[Panel, ...]:
    """About all that are kept."""
    return (
        Panel(
            "trade-off",
            N_("Is it worth it?"),
            lambda _pair: trade_off.what_one_pays(run),
            counted_with,
        ),
        Panel(
            "kept",
            N_("What have you kept?"),
            lambda _pair, state: kept_list.what_is_kept(state),
            counted_with,
        ),
    )


def of_two(pair: Pair) -> tuple[Panel, ...]:
    """About A and B: counted always, run where both can."""
    if shared.faults(pair):
        return COUNTED
    expected = of_runs("prediction", N_("What do they predict?"), prediction.what_they_expect)
    return (
        *COUNTED,
        of_runs("time", N_("Which is faster?"), speed.how_fast_here),
        of_runs("flow", N_("What flows through them?"), flow.what_passes),
        of_runs("heads", N_("All heads"), of_patterns(heads.who_reads_whom)),
        of_runs("head", N_("One head: B − A"), of_patterns(head.one_head_of_each)),
        *((expected,) if prediction.predicts_alike(pair) else ()),
    )


@chooses("context_len", "weight_format")
def counted_with(pair: Pair | None, state: State) -> None:
    """What counts are made for: nothing runs, so that no text is read."""
    counting_controls([run.weights for run in pair.both] if pair else (), state=state)


def what_differs(pair: Pair, state: State) -> None:
    """The settings, and the numbers that follow from them; and whether both can run."""
    differences.what_differs(pair, state)
    runs.both_ran(pair)


SIZES = ("n_layers", "d_model", "n_heads", "n_kv_heads", "d_ff")
COUNTED = (
    Panel("differences", N_("What differs?"), what_differs, counted_with, SIZES),
    Panel("where", N_("Where do they differ?"), where.where_it_goes, counted_with, SIZES),
)


def of_runs(name: str, title: str, draw: Callable[..., None]) -> Panel:
    """A panel that needs a run of both, and what both read."""

    def drawn(pair: Pair) -> None:
        if runs.both_ran(pair):
            section(draw)(pair)

    return Panel(name, title, drawn, what_both_read)


def of_patterns(draw: Callable[..., None]) -> Callable[..., None]:
    """A panel that needs the patterns of both; where one has none, it says so."""

    @functools.wraps(draw)
    def drawn(pair: Pair, **what_is_set: State) -> None:
        if (run := pair.without_attention) is None:
            draw(pair, **what_is_set)
        else:
            no_attention(run.config, draw.__name__)

    return drawn


def mend_what_is_kept() -> None:
    """What a link says of others than B and cannot be: said as for B."""
    for what in kept.mend():
        st.warning(_("Adjusted: {what}").format(what=what))
    write()


def how_to_begin() -> None:
    """Nothing is kept: what to do, and pairs to begin with."""
    text = _(
        "Nothing has been kept yet: click “Compare” and “Keep as A”, then change something; "
        "the new settings become B."
    )
    st.info(text, icon=":material/bookmark_add:")
    st.markdown(
        _("Or begin with a ready-made pair, which sets both A and B; then change B in the sidebar.")
    )
    pairs.ready_pairs()


def two_of_them(pair: Pair) -> None:
    """Who A and B are."""
    st.markdown(shared.says_who_is_who(pair))
    with st.expander(_("Other pairs to begin with"), icon=":material/compare_arrows:"):
        pairs.ready_pairs()


def what_to_take(pair: Pair, state: State) -> None:
    """Tables, pictures and configuration, to keep."""
    shown = pair, *shared.counted_with(state)
    found = {
        "differences": lambda: differences.settings_table(pair),
        "numbers": lambda: differences.numbers(shared.pair_counts(*shown)),
    }
    take_away(
        pair.b.config, found, functools.partial(pictures, pair, state=state), shared.caption(pair)
    )


def pictures(pair: Pair, state: State) -> list[Picture]:
    """All that is drawn, the models that were measured where there are any."""
    shown = pair, *shared.counted_with(state)
    found = [drawn(draw, *shown) for draw in (where.draw_parameters, where.draw_operations)]
    front = trade_off.candidates(pair.b, state), trade_off.axes(state)
    if not trade_off.front_facts(*front).points.empty:
        found.append(drawn(trade_off.draw_front, *front))
    return found


show_page(TITLE, body)
