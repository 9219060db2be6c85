"""Rounded KV caches of the shipped models, measured beforehand, to be seen at once.

    python -m blocks.efficiency.recorded_caches [name ...]

measures them anew: a few minutes on a core. On other processors the last digits differ.
"""

import dataclasses
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from rich.progress import track

from blocks.efficiency.cache_facts import CacheMeasure, cache_fault, measure_cache, ways
from blocks.efficiency.cache_rounding import CacheAxis, CacheRounding
from blocks.efficiency.compression import Calibrated
from blocks.efficiency.recording import record_models
from blocks.model.shipped import rows_in, shipped
from blocks.weights.pocket import pocket

FILE = shipped("runs", "caches.json")
DIGITS = 5
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


def measured(name: str) -> list[dict[str, Any]] | None:
    """The usual ways, of a model that has a cache."""
    model = Calibrated(pocket(name))
    if cache_fault(model) is not None:
        return None
    return [_plain(measure_cache(model, how)) for how in track(USUAL, name)]


if __name__ == "__main__":
    record_models(FILE, measured)
