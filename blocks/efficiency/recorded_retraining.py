"""Shipped models that were pruned and trained on beforehand, to be seen at once.

    python -m blocks.efficiency.recorded_retraining [name ...]

trains them anew: a quarter of an hour on a core. On other processors the last digits differ.
"""

import dataclasses
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from rich.progress import track

from blocks.efficiency.recording import record_models
from blocks.efficiency.retraining import Repair, Repaired, Retraining
from blocks.model.shipped import rows_in, shipped
from blocks.training.teaching import shipped_teacher

FILE = shipped("runs", "retraining.json")
DIGITS = 5


def recorded_retraining(name: str) -> tuple[Repaired, ...]:
    """What became of a shipped model; none of another one."""
    return _all().get(name, ())


@lru_cache(maxsize=1)
def _all() -> Mapping[str, tuple[Repaired, ...]]:
    return {name: tuple(map(_read, rows)) for name, rows in rows_in(FILE).items()}


def _read(row: Mapping[str, Any]) -> Repaired:
    return Repaired(**{**row, "repair": Repair(row["repair"])})


def _plain(found: Repaired) -> dict[str, Any]:
    rounded = {name: round(getattr(found, name), DIGITS) for name in ("score", "loss")}
    return {**dataclasses.asdict(found), "repair": str(found.repair), **rounded}


def measured(name: str) -> list[dict[str, Any]]:
    """A model, trained on in every way."""
    series = Retraining(origin=shipped_teacher(name))
    each = track(series.results(()), total=series.n_steps, description=name)
    return [_plain(found) for found in each]


if __name__ == "__main__":
    record_models(FILE, measured)
