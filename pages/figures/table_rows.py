"""Rows of a data frame, for whom their columns are known."""

from collections.abc import Iterable
from typing import Any, cast

import pandas as pd

Row = Any  # what a column holds is known to the function that made the table, not to pandas' types


def each_row(table: pd.DataFrame) -> Iterable[Row]:
    """Iterate over the rows as named tuples."""
    return cast(Iterable[Row], table.itertuples())


def each_group(table: pd.DataFrame, column: str) -> Iterable[tuple[Any, pd.DataFrame]]:
    """Iterate over the rows with one value after the other, by this value."""
    return cast(Iterable[tuple[Any, pd.DataFrame]], table.groupby(column, sort=True))


def row_at(table: pd.DataFrame, label: str | int) -> pd.Series:
    """Return the row with this label, which stands in the index once."""
    return cast(pd.Series, table.loc[label])
