"""Variants of the shipped models, measured beforehand, to be seen at once.

    python -m blocks.efficiency.recorded [name ...]

measures them anew: a few minutes on 2 cores. Bytes are the same everywhere, losses and scores in
their first digits; times are those of the processor that the file names.
"""

import dataclasses
import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from rich.progress import track

from blocks.efficiency.compression import Calibrated
from blocks.efficiency.frontier import Method, Variant, measure_variant, ready
from blocks.model.devices import device_name
from blocks.model.shipped import rows_in, shipped, write_rows
from blocks.weights.pocket import pocket, pocket_names

FILE = shipped("runs", "variants.json")
DIGITS, N_THREADS = 5, 1


class Recorded(NamedTuple):
    """The ready set of one model, the original first, and the processor that measured it."""

    variants: tuple[Variant, ...]
    processor: str


def recorded(name: str) -> Recorded | None:
    """The variants of a shipped model, where they were measured."""
    return _all().get(name)


@lru_cache(maxsize=1)
def _all() -> Mapping[str, Recorded]:
    rows = rows_in(FILE)
    return {name: _read(row) for name, row in rows.items()}


def _read(row: Mapping[str, Any]) -> Recorded:
    variants = tuple(
        Variant(**{**each, "method": Method(each["method"]), "scores": tuple(each["scores"])})
        for each in row["variants"]
    )
    return Recorded(variants, row["processor"])


def _plain(variant: Variant) -> dict[str, Any]:
    values = dataclasses.asdict(variant)
    rounded = {name: round(values[name], DIGITS) for name in ("held_out_loss", "seconds")}
    scores = [round(score, DIGITS) for score in variant.scores]
    return {**values, **rounded, "scores": scores, "method": str(variant.method)}


def main(names: tuple[str, ...]) -> None:
    """Measure the ready set of each, and put all into one file."""
    torch.set_num_threads(N_THREADS)
    rows = rows_in(FILE)
    for name in names:
        model = Calibrated(pocket(name))
        recipes = track(ready(model.file.config), description=name)
        variants = [_plain(measure_variant(model, recipe)) for recipe in recipes]
        rows[name] = {"processor": device_name("cpu"), "variants": variants}
        write_rows(FILE, rows)


if __name__ == "__main__":
    main(tuple(sys.argv[1:]) or pocket_names())
