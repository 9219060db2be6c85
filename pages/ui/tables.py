"""Exact numbers, under the pictures that show them."""

import pandas as pd
import streamlit as st

from blocks.observe.run import Run
from pages.figures.counting import from_one
from pages.ui import cached, labelled, terms
from pages.ui.language import _


def show_whole(table: pd.DataFrame) -> None:
    """A small table with every column, on a phone too: words wrap where columns are narrow."""
    st.table(table, border="horizontal", hide_index=True)


def flow(run: Run, layer: int) -> None:
    """Every stage with its moments."""
    stages = labelled.stages(run, layer)
    shown = pd.DataFrame(
        {
            _("stage"): stages["label"],
            _("mean"): stages["mean"],
            _("std"): stages["std"],
            _("min"): stages["min"],
            _("max"): stages["max"],
            "RMS": stages["rms"],
            _("beyond 3 std"): stages["outlier_share"].map("{:.2%}".format),
        }
    )
    st.dataframe(shown.round(4), hide_index=True, key="flow_table", height="content")


def parameters(parts: pd.DataFrame) -> None:
    """Every part with its formula, in letters and in numbers."""
    shown = pd.DataFrame(
        {
            _("part"): parts["label"],
            _("count"): parts["count"],
            _("formula"): parts["formula"],
            _("in numbers"): parts["numbers"],
        }
    )
    count = st.column_config.NumberColumn(format="localized")
    columns = {_("count"): count}
    st.dataframe(
        shown, hide_index=True, key="parameter_table", column_config=columns, height="content"
    )


def heads(run: Run, layer: int) -> None:
    """Every head with its measures."""
    table = cached.heads(run, layer)
    shown = pd.DataFrame(
        {
            _("head"): table["head"].map(from_one),
            _("entropy (bits)"): table["entropy_bits"],
            _("effective tokens"): table["effective_tokens"],
            _("distance (tokens)"): table["distance_tokens"],
            _("first token"): table["first_token"],
            _("itself"): table["same_token"],
            _("previous token"): table["previous_token"],
            _("token after an earlier copy (induction)"): table["induction"],
            _("row sum"): table["row_sum_min"].map("{:.3f}".format),
            _("name"): [terms.head_name(name) for name in table["name"]],
        }
    )
    st.dataframe(shown.round(3), hide_index=True, key="head_table", height="content")
