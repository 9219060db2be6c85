"""What is measured for the page of positions: kept, keyed on the run and plain values."""

import dataclasses
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from blocks import ConfigError, Fault
from blocks.cost.memory import estimate_memory
from blocks.inspection import beyond_length, position_claims, position_tables
from blocks.inspection.other_positions import learned_table, random_values, with_position
from blocks.inspection.position_claims import Verdict
from blocks.model import devices
from blocks.model.kinds import Architecture, PositionKind
from blocks.model.masks import build_mask, everyone
from blocks.model.randomness import generator
from blocks.observe.run import Input, Run
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import TaskConfig
from pages.ui import cached, starts
from pages.ui.settings import memory_budget

SHOWN_COLUMNS = 256
DEEP_BIAS = 8.0  # it divides a weight by 3,000
N_TEXTS = 4
N_STEPS, ROWS_A_STEP = 6, 8


def fault_of(run: Run, kind: PositionKind) -> Fault | None:
    """What forbids this kind for the run's configuration; RoPE needs heads of even width."""
    try:
        run.config.replace(position_kind=kind)
    except ConfigError as error:
        return error.faults[0]
    return None


def is_own_table(run: Run) -> bool:
    """Whether the model has a learned table itself; otherwise one is drawn for show."""
    return run.config.position.position_kind is PositionKind.LEARNED


@lru_cache(maxsize=8)
def _learned(run: Run):
    return learned_table(cached.model(run), run.config, run.seed).float().cpu()


def n_rows(run: Run, kind: PositionKind, n: int) -> int:
    """How many positions there are to show: a learned table ends."""
    return min(n, run.config.max_seq_len) if kind is PositionKind.LEARNED else n


def table_of(run: Run, kind: PositionKind, n: int, query: int = 0) -> NDArray[np.float32]:
    """What a kind makes of `n` positions, a row each; see `position_table`."""
    return position_tables.position_table(
        run.config, kind, n, query=query, learned=_learned(run)
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
    rows = position_tables.place_codes(run.config, kind, n, _learned(run)).numpy()
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
    return position_tables.spectrum(_learned(run)[:n])


@lru_cache(maxsize=8)
def similarity(run: Run, kind: PositionKind, n: int) -> NDArray[np.float32]:
    """Cosine of the vectors of every two positions: (n, n)."""
    rows = position_tables.position_table(run.config, kind, n, learned=_learned(run))
    return position_tables.similarity(rows).float().numpy()


@lru_cache(maxsize=16)
def similarity_by_distance(run: Run, kind: PositionKind, n: int) -> pd.DataFrame:
    """The same by distance: distance, mean, least, most."""
    rows = position_tables.position_table(run.config, kind, n, learned=_learned(run))
    return position_tables.by_distance(position_tables.similarity(rows))


@lru_cache(maxsize=16)
def rope_similarity(run: Run, n: int) -> pd.DataFrame:
    """Score of equal random vectors by distance, within one standard deviation."""
    table = position_tables.rope_similarity(run.config, n, run.seed)
    return table.assign(least=table["mean"] - table["std"], most=table["mean"] + table["std"])


@lru_cache(maxsize=64)
def verdicts(
    run: Run, kind: PositionKind, n: int, shift: int, token: int
) -> tuple[Verdict, ...] | None:
    """Every claim about a kind, measured with this run's weights; None where it does not fit."""
    if fault_of(run, kind) is not None:
        return None
    with cached.turn(run.device):
        return position_claims.verdicts(
            cached.model(run),
            run.config,
            kind,
            run.values()[:1],
            n=n,
            shift=shift,
            token=token,
            seed=run.seed,
        )


class Shift(NamedTuple):
    """The matrix that moves positions on, and what it does to the features of one position."""

    matrix: NDArray[np.float32]
    is_fitted: bool
    n_features: int


MOST_FEATURES = 32


@lru_cache(maxsize=16)
def shift_matrix(run: Run, kind: PositionKind, n: int, shift: int) -> Shift | None:
    """M_k, its first features; None where a kind has none, or too few positions to fit it."""
    waves = position_claims.waves_of(run.config, kind)
    if waves:
        matrix = position_claims.shift_matrix(*waves, shift)
    elif kind is PositionKind.LEARNED and n - shift >= position_claims.LEAST_TO_FIT:
        matrix, _errors = position_claims.fitted_shift(_learned(run)[:n], shift)
    else:
        return None
    shown = matrix[:MOST_FEATURES, :MOST_FEATURES].float().numpy()
    return Shift(shown, waves is None, len(matrix))


def largest(matrix: NDArray[np.float32]) -> float:
    """The largest entry by size."""
    return float(np.abs(matrix).max())


def trained_spec(run: Run) -> TrainingSpec | None:
    """How the weights of this run were trained; None where they are random."""
    return TrainingSpec.from_plain(starts.model(run.weights).card.recipe) if run.weights else None


def default_length(run: Run) -> int:
    """The length that the model was trained on; of a random one, a small one."""
    spec = trained_spec(run)
    return spec.task.seq_len if spec else 32


def memory_needed(run: Run, trained_len: int) -> int:
    """Bytes that the longest of the runs takes, from above."""
    batch, seq_len = N_TEXTS, beyond_length.FACTORS[-1] * trained_len
    dtype = devices.DTYPES[run.dtype]
    return estimate_memory(run.config, batch=batch, seq_len=seq_len, dtype=dtype).total


def fitting_length(run: Run, trained_len: int) -> int:
    """The longest trained length, halved from this one, whose runs fit into memory."""
    while trained_len > 2 and memory_needed(run, trained_len) > memory_budget():
        trained_len //= 2
    return trained_len


@lru_cache(maxsize=64)
def spread(
    run: Run, kind: PositionKind, layer: int, trained_len: int, factor: int
) -> beyond_length.Spread | Fault:
    """How the last query spreads its weight in texts of `factor` · `trained_len` tokens.

    The fault where the kind does not fit, or has no row for so late a position.
    """
    n = factor * trained_len
    try:
        with cached.turn(run.device):
            model = with_position(
                cached.model(run),
                run.config,
                kind,
                seed=run.seed,
                n_rows=trained_len,
                n_layers=layer + 1,
            )
            return beyond_length.spread(
                model,
                _values(run, n),
                _mask(run, n),
                layer=layer,
                trained_len=trained_len,
            )
    except ConfigError as error:
        return error.faults[0]


def _values(run: Run, n: int):
    """Held-out rows of what the model was trained on where they are long enough, else random."""
    task = task_of(run, n)
    if task is None:
        return random_values(cached.model(run), run.config, N_TEXTS, n, run.seed)
    rows = task.held_out(N_TEXTS, generator(run.seed, "beyond length"))
    return rows.token_ids.to(run.device)


def _mask(run: Run, n: int):
    """The run's mask for texts without padding."""
    is_token = dataclasses.replace(PLAIN, seq_len=n).is_token().to(run.device)
    mask = build_mask(run.mask, is_token)
    is_gpt = run.config.architecture is Architecture.GPT
    return everyone(n, run.device) if mask is None and is_gpt else mask


PLAIN = Input()


def task_of(run: Run, n: int):
    """The task of a trained run with rows of `n` tokens; None where random, or no rows so long."""
    spec = trained_spec(run)
    if spec is None:
        return None
    least, most = spec.task.kind.seq_len_bounds
    return _task(spec.task, n) if least <= n <= most else None


@lru_cache(maxsize=4)
def _task(task: TaskConfig, n: int):
    return starts.build_task_once(dataclasses.replace(task, seq_len=n))


def longest_measured(run: Run, trained_len: int) -> int:
    """How many positions the loss can be measured on: a table ends, and so do a task's rows."""
    n = beyond_length.FACTORS[-1] * trained_len
    if is_own_table(run):
        n = min(n, run.config.max_seq_len)
    spec = trained_spec(run)
    return min(n, spec.task.kind.seq_len_bounds[1]) if spec else 0


@lru_cache(maxsize=64)
def bits(run: Run, n: int, step: int) -> NDArray[np.float64]:
    """Bits by position over some held-out rows, others at each step."""
    task = task_of(run, n)
    if task is None:
        raise ValueError("nothing was learned that could be asked for")
    rows = task.held_out(ROWS_A_STEP, generator(run.seed, "beyond length", "bits", str(step)))
    with cached.turn(run.device):
        return beyond_length.bits_by_position(cached.model(run), rows.to(run.device))
