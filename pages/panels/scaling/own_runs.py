"""A file of somebody's runs, fitted as ours are."""

import io
from functools import lru_cache

import numpy as np
import pandas as pd
import streamlit as st

from blocks.cost.scaling_laws import BESIROGLU
from blocks.model.faults import N_, ConfigError, Fault
from blocks.observe.run import Run
from blocks.scaling.band import fitted
from blocks.scaling.lab import ValleyFacts, valley_facts
from blocks.scaling.table import MOST_BYTES, Read, read_runs
from pages.page.declared import Panel
from pages.page.frame import section
from pages.panels.scaling.charts import best_chart, valley_chart
from pages.panels.scaling.shared import says_band
from pages.panels.scaling.valleys import run_rows, says_law
from pages.show.chart import show
from pages.show.controls import switch
from pages.show.explain import explained, note
from pages.show.fold import details
from pages.show.said import say
from pages.show.tables import show_table
from pages.state.values import State
from pages.words.language import _, literal, ngettext, say_fault

KNOWN_BUDGETS, KNOWN_SIZES = np.geomspace(6e18, 3e21, 5), np.geomspace(1e8, 2e10, 9)


@lru_cache(maxsize=8)
def read_facts(raw: bytes) -> tuple[Read, ValleyFacts]:
    """The runs of a file, and both fits. Raises `ConfigError` where it cannot be read or fitted."""
    read = read_runs(raw)
    return read, valley_facts(read.runs)


def own_facts(raw: bytes) -> ValleyFacts:
    return read_facts(raw)[1]


@lru_cache(maxsize=1)
def with_known_truth() -> bytes:
    """Runs without any noise from a published law, which a fit must find again."""
    rows = [
        (n, c, BESIROGLU.loss(float(n), float(c / 6 / n)))
        for c in KNOWN_BUDGETS
        for n in KNOWN_SIZES
    ]
    text = io.StringIO()
    pd.DataFrame(rows, columns=["N", "C", "loss"]).to_csv(text, index=False)
    return text.getvalue().encode()


def says_fitted(facts: ValleyFacts) -> str:
    """The best size's power by both fits, and the floor."""
    text = _(
        "The best size grows as C to the power {power} by the law and {line} by the parabolas; "
        "the floor is E = {floor}."
    )
    return text.format(
        power=says_band(facts.fit.power, 4),
        line="–" if facts.line is None else f"{facts.line.power:.4f}",
        floor=says_band(facts.fit.floor, 3),
    )


def says_truth(facts: ValleyFacts) -> str:
    """The law that the example was made from, beside what was found."""
    text = _(
        "These {n} runs were computed, without noise, from the corrected Chinchilla law "
        "(Besiroglu et al. 2024): E = {e}, α = {alpha}, β = {beta}, so the best size grows as"
        " C to the power {power:.4f}. Fitting the law recovers this; the parabolas, with the same "
        "sizes for all budgets, do not."
    )
    law = BESIROGLU
    return text.format(
        n=len(facts.runs), e=law.floor, alpha=law.alpha, beta=law.beta, power=law.power
    )


@section
def what_of_mine(_run: Run, state: State) -> None:
    """Bring a file, or look at one of known truth."""
    place = explained(("isoflop", "scaling_laws"), (read_runs, fitted), key="own_runs")
    file = st.file_uploader(
        _("A CSV file with the columns N, loss, and D or C (at most {n} MB)").format(
            n=MOST_BYTES // 10**6
        ),
        ("csv", "tsv", "txt"),
        key="uploaded_runs",
        max_upload_size=MOST_BYTES // 10**6,
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        switch("known_runs", _("Show an example whose law is known"))
        st.caption(_("Your file stays in this session; links do not include it."))
    if not (file or state.known_runs):
        return
    raw = with_known_truth() if state.known_runs or not file else file.getvalue()
    try:
        read, facts = read_facts(raw)
    except ConfigError as error:
        for fault in error.faults:
            values = {k: literal(v) if isinstance(v, str) else v for k, v in fault.values.items()}
            st.warning(say_fault(Fault(fault.text, values)), icon=":material/block:")
        return
    with place:
        say(says_fitted, raw, facts=own_facts)
    if read.n_left_out:
        text = ngettext(
            "{n} row was left out: a number in it is missing, not above 0 or beyond 1e30.",
            "{n} rows were left out: a number in them is missing, not above 0 or beyond 1e30.",
            read.n_left_out,
        )
        note(text.format(n=read.n_left_out))
    if raw == with_known_truth():
        st.markdown(says_truth(facts))
    _shown(raw)


def _shown(raw: bytes) -> None:
    left, right = st.columns(2)
    with left:
        show(valley_chart, raw, facts=own_facts, key="own_curves")
    with right:
        show(best_chart, raw, facts=own_facts, key="own_best")
    note(says_law(own_facts(raw)))
    with details(_("Every run, and how far the law is off"), icon=":material/table:"):
        show_table(run_rows(own_facts(raw)), key="own_runs_table")


PANEL = Panel(
    "own-runs", N_("What do your own runs say?"), what_of_mine, of_this_run=False, reads_input=False
)
