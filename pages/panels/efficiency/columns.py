"""One matrix rounded column by column, by GPTQ; and the scales that AWQ tries."""

from functools import lru_cache

import pandas as pd
import streamlit as st

from blocks.efficiency import column_facts as facts_of
from blocks.efficiency import rounding
from blocks.efficiency.column_facts import ColumnFacts
from blocks.efficiency.quantization import Quantization
from blocks.observe.run import Run
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Level, Look, line
from pages.panels.efficiency import columns_picture, score_text
from pages.panels.efficiency.matrix_map_picture import matrix_name
from pages.panels.efficiency.rounding import chosen
from pages.ui import link, starts
from pages.ui.chart import columns, show
from pages.ui.controls import pick, slide
from pages.ui.explain import explained, note
from pages.ui.export import download
from pages.ui.frame import section
from pages.ui.language import _, sentences
from pages.ui.numbers import percent
from pages.ui.said import say

PLOT = 240
CODE = (rounding.gptq_so_far, rounding.gptq, rounding.awq)


@lru_cache(maxsize=32)
def column_facts(weights: str, how: Quantization, matrix: str, n_rounded: int) -> ColumnFacts:
    """One matrix of a model; `weights` names it as it was trained."""
    return facts_of.column_facts(starts.calibrated(weights), how, matrix, n_rounded)


def says_columns(facts: ColumnFacts) -> str:
    """How wrong the products of the matrix are in the end, by each of the three."""
    text = _(
        "With weights rounded to nearest, the output of {matrix} has an error of "
        "**{nearest}**. GPTQ rounds one column at a time and adjusts the remaining columns "
        "to compensate: **{gptq}**."
    )
    said = text.format(
        matrix=matrix_name(facts.matrix, _),
        nearest=percent(facts.nearest[-1]),
        gptq=percent(facts.gptq[-1]),
    )
    return sentences(said, _says_awq(facts))


def _says_awq(facts: ColumnFacts) -> str:
    if not facts.best_exponent:
        return _("AWQ finds no scale here that beats rounding to nearest.")
    text = _(
        "AWQ gives the weights that multiply large inputs a finer grid (α = "
        "{exponent:g}): **{awq}**."
    )
    return text.format(exponent=facts.best_exponent, awq=percent(min(facts.awq)))


def column_table(facts: ColumnFacts) -> pd.DataFrame:
    """One row a look."""
    return pd.DataFrame(
        {
            "columns_rounded": facts.columns,
            "error_nearest": facts.nearest,
            "error_gptq": facts.gptq,
        }
    )


def errors(facts: ColumnFacts) -> Chart:
    """How wrong the products are after so many columns, to nearest and by GPTQ."""
    return Chart(
        _("Error of the output"),
        {"n": facts.columns, "nearest": facts.nearest, "gptq": facts.gptq},
        Axis(_("columns rounded"), of="n"),
        _wrong(),
        [
            line("nearest", Look(_("to nearest"))),
            line("gptq", Look(_("GPTQ"), palette.ATTENTION)),
        ],
        hover="{x}: {y:.2%}",
        tall=PLOT,
        legend=Legend.FOOT,
        levels=[Level(x=facts.n_rounded, color=palette.PINNED, dash="solid")],
    )


def exponents(facts: ColumnFacts) -> Chart:
    """The same of AWQ, for each exponent of its scales; 0 is to nearest."""
    sizes = [12 if exponent == facts.best_exponent else 6 for exponent in facts.exponents]
    gptq = Look(_("GPTQ"), palette.BEFORE, dash="dash", width=1.5)
    return Chart(
        _("Scales that AWQ tries"),
        pd.DataFrame({"alpha": facts.exponents, "awq": facts.awq}).assign(gptq=facts.gptq[-1]),
        Axis(_("exponent α of the mean |x|"), of="alpha"),
        _wrong(),
        [
            line("awq", Look(_("AWQ"), palette.ATTENTION, "circle", size=sizes, width=2)),
            line("gptq", gptq, hover=""),
        ],
        hover="α = {x:g}: {y:.2%}",
        tall=PLOT,
        legend=Legend.FOOT,
    )


def _wrong() -> Axis:
    title = _("relative squared error of the output")
    return Axis(title, from_0=True, is_share=True, n_decimals=1)


@section
def what_makes_up_for_errors(run: Run) -> None:
    """A matrix, and how far it is rounded; what has moved, and how wrong its products are."""
    place = explained(("quantization",), CODE, key="columns")
    how = chosen(run).quantization or Quantization()
    place_in_it = link.value("rounded_matrix"), link.value("rounded_columns")
    at = score_text.measured(run), how, *place_in_it
    with place, st.spinner(_("Reading the calibration text …")):
        facts = column_facts(*at)
    with place:
        say(says_columns, *at, facts=column_facts)
    left, right = st.columns(2)
    with left:
        names = {name: matrix_name(name, _) for name in facts.matrices}
        pick(
            "rounded_matrix",
            _("Matrix"),
            facts.matrices,
            label_of=names.__getitem__,
            shown=facts.matrix,
            place="_columns",
        )
    with right:
        slide("rounded_columns", _("columns rounded"), facts.columns, facts.n_rounded)
    show(columns_picture.change, *at, facts=column_facts, key="column_change")
    left, right = columns(2)
    with left:
        show(errors, *at, facts=column_facts, key="column_errors")
    with right:
        show(exponents, *at, facts=column_facts, key="awq_exponents")
    note(
        _(
            "The error is the squared error of the matrix's output on the calibration "
            "text, relative to the squared output."
        )
    )
    download("columns.csv", lambda: column_table(facts).to_csv(index=False), "text/csv")
