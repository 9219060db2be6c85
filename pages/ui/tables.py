"""Exact numbers, under the pictures that show them."""

from collections.abc import Collection

import pandas as pd
import streamlit as st


def show_table(table: pd.DataFrame, *, key: str, counts: Collection[str] = ()) -> None:
    """A table as high as its rows; in the columns `counts` thousands are told apart."""
    whole = [name for name in counts if table[name].dtype.kind in "iu"]
    widths = dict.fromkeys(whole, st.column_config.NumberColumn(format="localized"))
    st.dataframe(table, hide_index=True, key=key, column_config=widths, height="content")


def show_whole(table: pd.DataFrame) -> None:
    """A small table with every column, on a phone too: words wrap where columns are narrow."""
    st.table(table, border="horizontal", hide_index=True)
