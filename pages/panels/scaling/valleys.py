"""Models of several sizes at equal cost: the size at the bottom of each valley, by two fits."""

from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from blocks.cost.scaling_laws import Counted
from blocks.model.faults import N_, ConfigError
from blocks.observe.run import Run
from blocks.scaling import plan
from blocks.scaling.band import fitted
from blocks.scaling.lab import ValleyFacts
from blocks.scaling.projection import fit_weighted
from blocks.scaling.valleys import line_through
from pages.figures.units import long_duration
from pages.page.declared import Panel
from pages.page.frame import section
from pages.panels.scaling import shared
from pages.panels.scaling.charts import best_chart, valley_chart
from pages.panels.scaling.shared import facts_of, in_flops, says_band, size
from pages.show.chart import show
from pages.show.explain import explained, note
from pages.show.fold import details
from pages.show.parts import Beside, Note, Shown, Table
from pages.show.said import say
from pages.show.tables import show_table
from pages.stage import link, present
from pages.state.values import State
from pages.words.language import _, say_fault, sentences

PAGE_OF_COST = "pages/cost.py"


def says_valleys(facts: ValleyFacts) -> str:
    """With which power of the budget the best size grows, by both fits, and what that means."""
    text = _(
        "Each budget has a best size: a smaller model learns too little from more tokens, a larger "
        "one sees too few. By the law, that size grows as C to the power {power}; by a parabola "
        "through each valley, {line}. At {flops} FLOPs it is N = {n}, trained on D = {d} tokens "
        "({ratio} tokens per parameter)."
    )
    n, d, ratio = facts.best_run
    said = text.format(
        power=says_band(facts.fit.power),
        line="–" if facts.line is None else f"{facts.line.power:.2f}",
        flops=in_flops(facts.budgets[1]),
        n=size(n),
        d=size(d),
        ratio=f"{ratio:.0f}",
    )
    return sentences(said, _says_outside(facts))


def _says_outside(facts: ValleyFacts) -> str:
    if not facts.n_outside:
        return ""
    return _(
        "{n} of {all} valleys have their bottom at or beyond their outermost run; their parabolas "
        "are left out of the line."
    ).format(n=facts.n_outside, all=len(facts.valleys))


def says_runs(facts: ValleyFacts) -> str:
    """What a dot is, and on which side of the law the dearest runs lie, where it is extended."""
    text = _(
        "Each dot is one run; where {n_seeds} lie above each other, they differ in their seeds "
        "alone. Of the {n} runs of the largest budget, {above} lie above the law. It is fitted to "
        "all budgets at once, and to the right of them it is only extended."
    )
    if facts.n_seeds == 1:
        text = _(
            "Each dot is one run. Of the {n} runs of the largest budget, {above} lie above the "
            "law. It is fitted to all budgets at once, and to the right of them it is only "
            "extended."
        )
    above, n = facts.above
    too_low = _("So for larger budgets it probably predicts too low a loss.")
    said = text.format(n_seeds=facts.n_seeds, n=n, above=above)
    return sentences(said, too_low if facts.is_too_low else "")


def says_law(facts: ValleyFacts) -> str:
    """The five numbers of the law, and how well it holds."""
    text = _(
        "L(N, D) = {e:.3f} + {a:.4g} / N^{alpha:.3f} + {b:.4g} / D^{beta:.3f}. A run "
        "typically deviates from it by {off:.2%}. The bands come from {n} fits, each to runs "
        "resampled after one budget, or some of the cheapest, was left out (bootstrap)."
    )
    law = facts.fit.law
    return text.format(
        e=law.floor,
        a=law.a,
        alpha=law.alpha,
        b=law.b,
        beta=law.beta,
        off=facts.fit.spread,
        n=len(facts.fit.others),
    )


def run_rows(facts: ValleyFacts) -> pd.DataFrame:
    """Every run, and what the law says of it."""
    rows = facts.table
    return pd.DataFrame(
        {
            _("training FLOPs"): rows["flops"].map(in_flops),
            _("parameters N"): rows["n"].map(size),
            _("tokens D"): rows["d"].map(size),
            _("loss"): rows["loss"].map("{:.4f}".format),
            _("law"): rows["said"].map("{:.4f}".format),
            _("off by"): rows["off"].map("{:+.2%}".format),
        }
    )


@section
def which_size(run: Run, state: State) -> None:
    """The recorded valleys, or the same trained here and now."""
    code = (plan.points_of, fit_weighted, line_through, fitted)
    place = explained(("isoflop", "scaling_laws"), code, key="valleys")
    with present.aside(), st.container(horizontal=True, vertical_alignment="bottom"):
        shared.counted_choice("valleys")
        shared.live_choice("train_valleys", _("Train them here"))
        _estimate()
    runs, counted = shared.runs_here(run, state), shared.counted(state)
    try:
        facts_of(runs, counted)
    except ConfigError as error:
        for fault in error.faults if runs else ():
            st.info(say_fault(fault), icon=":material/hourglass_top:")
        return
    _shown(runs, counted, place, is_recorded=not state.train_valleys)


def _shown(runs: shared.Runs, counted: Counted, place: Any, *, is_recorded: bool) -> None:
    facts = partial(show, facts=facts_of)
    with place:
        say(says_valleys, runs, counted, facts=facts_of)
    left, right = st.columns(2)
    with left:
        facts(valley_chart, runs, counted, key="valley_curves")
    with right:
        facts(best_chart, runs, counted, key="valley_best")
    note(says_runs(facts_of(runs, counted)))
    note(says_law(facts_of(runs, counted)))
    note(shared.says_trained(is_recorded=is_recorded))
    with present.aside():
        st.page_link(
            PAGE_OF_COST,
            label=_("Which GPT for this budget? Published laws, at any scale"),
            query_params={**link.as_query(), "panel": "shape"},
        )
    with details(_("Every run, and how far the law is off"), icon=":material/table:"):
        show_table(run_rows(facts_of(runs, counted)), key="valley_runs")


def _estimate() -> None:
    """How long it took where it was recorded."""
    if recorded := shared.recorded_runs():
        n = len(plan.valley_points())
        text = _("{n} runs of one seed, about {time} on a free core")
        seconds = long_duration(shared.seconds_of(recorded), _=_)
        st.caption(text.format(n=n, time=seconds))


def at(_run: Run, state: State) -> tuple[shared.Runs, Counted] | None:
    runs = shared.recorded_runs()
    return (runs, shared.counted(state)) if runs else None


PANEL = Panel(
    "valleys",
    N_("Which model size is best for a given budget?"),
    which_size,
    of_this_run=False,
    reads_input=False,
    at=at,
    facts=facts_of,
    shows=(
        Beside(Shown(valley_chart, "valley_curves"), Shown(best_chart, "valley_best")),
        Note(says_runs),
        Note(says_law),
        Table(run_rows, "valley_runs"),
    ),
)
