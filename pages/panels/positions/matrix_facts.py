"""What matrix shows, measured."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from blocks.inspection import position_tables
from blocks.model.kinds import PositionKind
from blocks.observe.run import Run
from pages.panels.positions import shared

SHOWN_COLUMNS = 256


DEEP_BIAS = 8.0  # it divides a weight by 3,000


def table_of(run: Run, kind: PositionKind, n: int, query: int = 0) -> NDArray[np.float32]:
    """What a kind makes of `n` positions, a row each; see `position_table`."""
    return position_tables.position_table(
        run.config, kind, n, query=query, learned=shared._learned(run)
    ).numpy()


class Table(NamedTuple):
    """A table to draw: values (position, column), and which columns they are."""

    values: NDArray[np.float32]
    columns: tuple[int, ...]


@lru_cache(maxsize=16)
def table(run: Run, kind: PositionKind, n: int, query: int) -> Table:
    """What a kind makes of `n` positions; of very many columns evenly chosen pairs.

    Of sinusoidal all sines (even columns) come first, then all cosines, so that waves are seen.
    """
    found = table_of(run, kind, n, query)
    columns = shown_columns(found.shape[1], in_pairs=kind.is_added)
    if kind is PositionKind.SINUSOIDAL:
        columns = tuple(sorted(columns, key=lambda column: column % 2))
    return Table(found[:, list(columns)], columns)


def shown_columns(width: int, *, in_pairs: bool) -> tuple[int, ...]:
    """All columns, or about `SHOWN_COLUMNS` of them, evenly chosen, pairs kept together."""
    size = 2 if in_pairs else 1
    groups = -(-width // size)
    step = -(-groups * size // SHOWN_COLUMNS)
    chosen = (group * size + i for group in range(0, groups, step) for i in range(size))
    return tuple(column for column in chosen if column < width)


def columns_of(kind: PositionKind, pair: int) -> tuple[int, ...]:
    """The columns of the table that belong to a pair; of ALiBi and RoPE each stands for itself."""
    return (2 * pair, 2 * pair + 1) if kind.is_added else (pair,)


def most(run: Run, kind: PositionKind, n: int, query: int) -> float:
    """The value that has the full colour: 1 for waves, else the largest that is there."""
    if kind in (PositionKind.SINUSOIDAL, PositionKind.ROPE):
        return 1.0
    largest = float(abs(table(run, kind, n, query).values).max())
    return min(largest, DEEP_BIAS) if kind is PositionKind.ALIBI else largest


@lru_cache(maxsize=32)
def pair_curves(run: Run, kind: PositionKind, n: int, pair: int, query: int) -> pd.DataFrame:
    """What one pair (of ALiBi: one head) says at each position: position (from 0), first, second.

    `second` is left out where there is none.
    """
    if kind is PositionKind.ALIBI:
        bias = table_of(run, kind, n, query)[:, pair]
        return pd.DataFrame({"position": range(n), "first": bias})
    rows = position_tables.place_codes(run.config, kind, n, shared._learned(run)).numpy()
    curves = {"position": range(len(rows)), "first": rows[:, 2 * pair]}
    if 2 * pair + 1 < rows.shape[1]:
        curves["second"] = rows[:, 2 * pair + 1]
    return pd.DataFrame(curves)


@lru_cache(maxsize=16)
def wavelengths(run: Run, kind: PositionKind) -> pd.DataFrame:
    """Positions for one turn of each pair."""
    return position_tables.wavelengths(run.config, kind)


@lru_cache(maxsize=16)
def half_distances(run: Run) -> pd.DataFrame:
    """How far each ALiBi head sees."""
    return position_tables.half_distances(run.config)


@lru_cache(maxsize=16)
def spectrum(run: Run, n: int) -> pd.DataFrame:
    """Of which waves the learned table is made."""
    return position_tables.spectrum(shared._learned(run)[:n])


@lru_cache(maxsize=8)
def similarity(run: Run, kind: PositionKind, n: int) -> NDArray[np.float32]:
    """Cosine of the vectors of every two positions: (n, n)."""
    rows = position_tables.position_table(run.config, kind, n, learned=shared._learned(run))
    return position_tables.similarity(rows).float().numpy()


@lru_cache(maxsize=16)
def similarity_by_distance(run: Run, kind: PositionKind, n: int) -> pd.DataFrame:
    """Cosine by distance: distance, mean, least, most."""
    rows = position_tables.position_table(run.config, kind, n, learned=shared._learned(run))
    return position_tables.by_distance(position_tables.similarity(rows))


@lru_cache(maxsize=16)
def rope_similarity(run: Run, n: int) -> pd.DataFrame:
    """Score of equal random vectors by distance, within one standard deviation."""
    table = position_tables.rope_similarity(run.config, n, run.seed)
    return table.assign(least=table["mean"] - table["std"], most=table["mean"] + table["std"])
