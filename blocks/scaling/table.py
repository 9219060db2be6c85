"""Somebody's runs from a table: sizes, tokens or FLOPs, and losses; checked and bounded."""

import csv
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from blocks.cost.loss_fit import Trained
from blocks.model.faults import N_, ConfigError, Fault

MOST_BYTES, MOST_RUNS, MOST = 1_000_000, 500, 1e30
NAMES: Mapping[str, tuple[str, ...]] = {
    "n": ("n", "params", "parameters", "n_params", "model_size", "size"),
    "d": ("d", "tokens", "n_tokens", "training_tokens", "data"),
    "c": ("c", "flops", "compute", "training_flops", "compute_budget"),
    "loss": ("loss", "l", "val_loss", "final_loss", "held_out_loss"),
}
DELIMITERS = ",;\t"


class Read(NamedTuple):
    """The runs of a table, and how many rows were left out since a number was missing."""

    runs: tuple[Trained, ...]
    n_left_out: int = 0


def read_runs(raw: bytes) -> Read:
    """Read a CSV with a header: N, loss, and D or C (then D = C / 6N).

    Raises `ConfigError` where a column is missing, the file is too large, or a number not above 0.
    """
    if len(raw) > MOST_BYTES:
        text = N_("The file has {n:,} bytes: use one with at most {most:,}")
        raise ConfigError([Fault(text, {"n": len(raw), "most": MOST_BYTES})])
    lines = raw.decode("utf-8-sig", errors="replace").splitlines()
    delimiter = max(DELIMITERS, key=lines[0].count) if lines else ","
    rows = [row for row in csv.reader(lines, delimiter=delimiter) if any(map(str.strip, row))]
    columns = _columns(rows[0] if rows else [])
    if len(rows) - 1 > MOST_RUNS:
        text = N_("The file has {n:,} runs: use one with at most {most:,}")
        raise ConfigError([Fault(text, {"n": len(rows) - 1, "most": MOST_RUNS})])
    found = [_run(row, columns) for row in rows[1:]]
    kept = tuple(run for run in found if run is not None)
    return Read(kept, len(found) - len(kept))


def _columns(header: Sequence[str]) -> dict[str, int]:
    """The place of each column that is known, by our name for it."""
    names = [name.strip().lower().replace(" ", "_") for name in header]
    places = {
        ours: next((names.index(each) for each in theirs if each in names), None)
        for ours, theirs in NAMES.items()
    }
    found = {name: place for name, place in places.items() if place is not None}
    if not {"n", "loss"} <= found.keys() or not {"d", "c"} & found.keys():
        text = N_(
            "The first line must name the columns N (parameters), D (tokens) or C (FLOPs), and "
            "loss; it reads {header}"
        )
        raise ConfigError([Fault(text, {"header": ", ".join(header)[:200]})])
    return found


def _run(row: Sequence[str], columns: Mapping[str, int]) -> Trained | None:
    """None where a number is missing or none; C counts where there is no D."""
    numbers = {name: _number(row, place) for name, place in columns.items()}
    n, loss, d, c = (numbers.get(name) for name in ("n", "loss", "d", "c"))
    if n is None or loss is None or (d is None and c is None):
        return None
    return Trained(n, d if d is not None else (c or 0.0) / 6 / n, loss)


def _number(row: Sequence[str], place: int) -> float | None:
    """A number above 0, in whatever way it is written; None for anything else."""
    try:
        value = float(row[place].strip().replace("_", ""))
    except (ValueError, IndexError):
        return None
    return value if 0 < value <= MOST else None
