"""Rows of a data frame, for whom their columns are known."""

from collections import namedtuple
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, cast

import pandas as pd

Row = Any  # what a column holds is known to the function that made the table, not to pandas' types


def each_row(table: pd.DataFrame) -> Iterable[Row]:
    """Iterate over the rows as named tuples, whose type is made once for equal columns."""
    columns = (table.index.tolist(), *(table[name].tolist() for name in table.columns))
    return map(_row_type(tuple(table.columns))._make, zip(*columns, strict=True))


@lru_cache(maxsize=128)
def _row_type(columns: tuple[str, ...]) -> Row:
    return namedtuple("Row", ("Index", *columns))


def each_group(table: pd.DataFrame, column: str) -> Iterable[tuple[Any, pd.DataFrame]]:
    """Iterate over the rows with one value after the other, by this value."""
    return cast(Iterable[tuple[Any, pd.DataFrame]], table.groupby(column, sort=True))


def row_at(table: pd.DataFrame, label: str | int) -> pd.Series:
    """Return the row with this label, which stands in the index once."""
    return cast(pd.Series, table.loc[label])
