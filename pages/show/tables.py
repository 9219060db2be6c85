"""Exact numbers, under the pictures that show them."""

from collections.abc import Callable, Collection, Hashable
from typing import Any, Literal
from unicodedata import east_asian_width

import pandas as pd
import streamlit as st

from pages.show import beside
from pages.show.chart import CANNOT_BE_DRAWN
from pages.stage import present
from pages.words.language import _

MOST_WRAPPED = 5  # columns, on a phone
WIDE = 640  # pixels; a column is else at most 500 wide, however long its texts
# The browser makes a column as wide as its first ten cells need; names may be longer further down.
N_LOOKED_AT, LETTER, MARGIN, WIDEST_NAME = 10, 7, 24, 240


def show_table(
    table: pd.DataFrame,
    *,
    key: str | None = None,
    counts: Collection[str] = (),
    wide: Collection[str] = (),
    n_names: int = 1,
    height: int | Literal["content"] = "content",
) -> None:
    """A table as high as its rows, whose first `n_names` columns stay in sight on a phone.

    In the columns `counts` thousands are told apart; `wide` ones have long texts. A class is shown
    none: its numbers are too small for the back row.
    """
    if present.is_on():
        return
    whole = [name for name in counts if table[name].dtype.kind in "iu"]
    columns: dict[str, Any] = {
        **{name: _name_column(table[name]) for name in table.columns[:n_names]},
        **dict.fromkeys(whole, st.column_config.NumberColumn(format="localized")),
        **dict.fromkeys(wide, st.column_config.Column(width=WIDE)),
    }
    st.dataframe(table, hide_index=True, key=key, column_config=columns, height=height)


def _name_column(names: pd.Series) -> Any:
    """A column that stays in sight, wide enough for its longest name, within reason."""
    lengths = names.astype(str).map(_width)
    is_cut = lengths.max() > lengths[:N_LOOKED_AT].max()
    width = min(int(lengths.max()) * LETTER + MARGIN, WIDEST_NAME) if is_cut else None
    return st.column_config.Column(pinned=True, width=width)


def _width(name: str) -> int:
    """In letters; a Chinese sign is as wide as two."""
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in name)


def show_whole(table: pd.DataFrame) -> None:
    """A small table with every column, on a phone too: words wrap where columns are narrow.

    Where the columns are too many for that, one goes through them sideways.
    """
    if len(table.columns) > MOST_WRAPPED:
        show_table(table)
    else:
        st.table(table, border="horizontal", hide_index=True)


def show_both(
    make: Callable[[Any], pd.DataFrame], *values: Hashable, facts: Callable[..., Any]
) -> None:
    """Show `make(facts(*values))` whole; where A is kept, A's table first, each under its name."""
    table, other = make(facts(*values)), beside.with_a(values)
    of_a = None if other is None else _made(make, facts, other)
    if of_a is not None and not of_a.equals(table):
        st.caption(_("A · {name}, as saved").format(name=beside.name_of_a()))
        show_whole(of_a)
        st.caption(_("B · current settings"))
    show_whole(table)


def _made(
    make: Callable[[Any], pd.DataFrame], facts: Callable[..., Any], values: tuple[Hashable, ...]
) -> pd.DataFrame | None:
    """The table of A; None where A has none."""
    try:
        return make(facts(*values))
    except CANNOT_BE_DRAWN:
        return None
