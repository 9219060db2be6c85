"""Exact numbers, under the pictures that show them."""

import pandas as pd
import streamlit as st

from pages.ui.language import _


def show_whole(table: pd.DataFrame) -> None:
    """A small table with every column, on a phone too: words wrap where columns are narrow."""
    st.table(table, border="horizontal", hide_index=True)


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
