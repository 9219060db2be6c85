"""One matrix rounded column by column, by GPTQ; and the scales that AWQ tries."""

from functools import lru_cache

import pandas as pd
import streamlit as st

from blocks.efficiency import column_facts as facts_of
from blocks.efficiency import rounding
from blocks.efficiency.column_facts import ColumnFacts
from blocks.efficiency.quantization import Quantization
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Level, Look, line
from pages.page.declared import Panel
from pages.panels.efficiency import columns_picture, score_text
from pages.panels.efficiency.matrix_map_picture import matrix_name
from pages.panels.efficiency.rounding import chosen, grid_controls
from pages.server import starts
from pages.show.controls import pick, slide
from pages.show.parts import Beside, Controls, File, Matrix, Note, OffScreen, Say, Shown
from pages.state.values import State
from pages.words.language import _, fill, sentences

PLOT = 240


@lru_cache(maxsize=32)
def column_facts(weights: str, how: Quantization, matrix: str, n_rounded: int) -> ColumnFacts:
    """One matrix of a model; `weights` names it as it was trained."""
    return facts_of.column_facts(starts.calibrated(weights), how, matrix, n_rounded)


def says_columns(facts: ColumnFacts) -> str:
    """How wrong the products of the matrix are in the end, by each of the three."""
    text = _(
        "With weights rounded to nearest, the output of {matrix} has an error of "
        "**{nearest:percent}**. GPTQ rounds one column at a time and adjusts the remaining columns "
        "to compensate: **{gptq:percent}**."
    )
    ends = {"nearest": facts.nearest[-1], "gptq": facts.gptq[-1]}
    return sentences(fill(text, matrix=matrix_name(facts.matrix, _), **ends), _says_awq(facts))


def _says_awq(facts: ColumnFacts) -> str:
    text = _("AWQ finds no scale here that beats rounding to nearest.")
    if facts.best_exponent:
        text = _(
            "AWQ gives the weights that multiply large inputs a finer grid (α = "
            "{best_exponent:g}): **{awq:percent}**."
        )
    return fill(text, facts, awq=min(facts.awq))


def column_table(facts: ColumnFacts) -> pd.DataFrame:
    """One row a look."""
    return pd.DataFrame(
        {"columns_rounded": facts.columns, "error_nearest": facts.nearest, "error_gptq": facts.gptq}
    )


def errors(facts: ColumnFacts) -> Chart:
    """How wrong the products are after so many columns, to nearest and by GPTQ."""
    return Chart(
        _("Error of the output"),
        {"n": facts.columns, "nearest": facts.nearest, "gptq": facts.gptq},
        Axis(_("columns rounded"), of="n"),
        _wrong(),
        [line("nearest", Look(_("to nearest"))), line("gptq", Look(_("GPTQ"), palette.ATTENTION))],
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


def of_a_matrix(run: Run, state: State) -> tuple[str, Quantization, str, int]:
    """The model that is rounded, how, which of its matrices, and how many columns of it."""
    how = chosen(run, state).quantization or Quantization()
    return (score_text.measured(run, state), how, state.rounded_matrix, state.rounded_columns)


def controls(weights: str, how: Quantization, matrix: str, n_rounded: int) -> None:
    """Which matrix, and how far it is rounded."""
    with st.spinner(_("Reading the calibration text …")):
        facts = column_facts(weights, how, matrix, n_rounded)
    left, right = st.columns(2)
    with left:
        pick(
            "rounded_matrix",
            _("Matrix"),
            facts.matrices,
            label_of=lambda name: matrix_name(name, _),
            shown=facts.matrix,
            place="_columns",
        )
    with right:
        slide("rounded_columns", _("columns rounded"), facts.columns, facts.n_rounded)


PANEL = Panel(
    "columns",
    N_("What do GPTQ and AWQ do?"),
    choices=grid_controls,
    concepts=("quantization",),
    code=(rounding.gptq_so_far, rounding.gptq, rounding.awq),
    at=of_a_matrix,
    facts=column_facts,
    shows=(
        Controls(controls, is_aside=False),
        Say(says_columns),
        Matrix(columns_picture.change, "column_change", room=420),
        OffScreen(Beside(Shown(errors, "column_errors"), Shown(exponents, "awq_exponents"))),
        Note(
            N_(
                "The error is the squared error of the matrix's output on the calibration "
                "text, relative to the squared output."
            )
        ),
        File(column_table, "columns"),
    ),
)
