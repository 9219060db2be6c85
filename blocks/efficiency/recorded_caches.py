"""Rounded KV caches of the shipped models, measured beforehand, to be seen at once.

    python -m blocks.efficiency.recorded_caches [name ...]

measures them anew: a few minutes on a core. On other processors the last digits differ.
"""

import dataclasses
import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import torch
from rich.progress import track

from blocks.efficiency.cache_facts import CacheMeasure, cache_fault, measure_cache, ways
from blocks.efficiency.cache_rounding import CacheAxis, CacheRounding
from blocks.efficiency.compression import Calibrated
from blocks.model.shipped import rows_in, shipped, write_rows
from blocks.weights.pocket import pocket, pocket_names

FILE = shipped("runs", "caches.json")
DIGITS, N_THREADS = 5, 1
USUAL = ways(CacheRounding.group_size, CacheRounding.n_recent)


def recorded_caches(
    name: str, wanted: tuple[CacheRounding | None, ...]
) -> tuple[CacheMeasure, ...]:
    """The measures of a shipped model; none where others are wanted than the usual."""
    return _all().get(name, ()) if wanted == USUAL else ()


@lru_cache(maxsize=1)
def _all() -> Mapping[str, tuple[CacheMeasure, ...]]:
    return {name: tuple(map(_read, row)) for name, row in rows_in(FILE).items()}


def _read(row: Mapping[str, Any]) -> CacheMeasure:
    how = row["how"] and CacheRounding(**{**row["how"], "axis": CacheAxis(row["how"]["axis"])})
    written = tuple(map(tuple, row["written"]))
    return CacheMeasure(**{**row, "how": how, "scores": tuple(row["scores"]), "written": written})


def _plain(measure: CacheMeasure) -> dict[str, Any]:
    difference = round(measure.largest_difference, DIGITS)
    scores = [round(score, DIGITS) for score in measure.scores]
    values = dataclasses.asdict(measure)
    return {**values, "largest_difference": difference, "scores": scores}


def main(names: tuple[str, ...]) -> None:
    """Measure the usual ways of each model that has a cache, and put all into one file."""
    torch.set_num_threads(N_THREADS)
    rows = rows_in(FILE)
    for name in names:
        model = Calibrated(pocket(name))
        if cache_fault(model) is None:
            rows[name] = [_plain(measure_cache(model, how)) for how in track(USUAL, name)]
            write_rows(FILE, rows)


if __name__ == "__main__":
    main(tuple(sys.argv[1:]) or pocket_names())
