"""Shipped models that were pruned and trained on beforehand, to be seen at once.

    python -m blocks.efficiency.recorded_retraining [name ...]

trains what the file lacks: some 50 minutes on a core for all. On other processors the last digits
differ.
"""

import dataclasses
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from rich.progress import track

from blocks.efficiency.recording import record_models
from blocks.efficiency.removal import Removed, shares_of
from blocks.efficiency.retraining import Repair, Repaired, Retraining
from blocks.model.shipped import rows_in, shipped
from blocks.training.teaching import shipped_teacher

FILE = shipped("runs", "retraining.json")
DIGITS = 5


def recorded_retraining(name: str, removed: Removed) -> tuple[Repaired, ...]:
    """What became of a shipped model without some of these; none of another one."""
    return _all().get(name, {}).get(removed, ())


@lru_cache(maxsize=1)
def _all() -> Mapping[str, Mapping[str, tuple[Repaired, ...]]]:
    return {
        name: {removed: tuple(map(_read, rows)) for removed, rows in of_model.items()}
        for name, of_model in rows_in(FILE).items()
    }


def _read(row: Mapping[str, Any]) -> Repaired:
    return Repaired(**{**row, "repair": Repair(row["repair"])})


def _plain(found: Repaired) -> dict[str, Any]:
    rounded = {name: round(getattr(found, name), DIGITS) for name in ("score", "loss")}
    return {**dataclasses.asdict(found), "repair": str(found.repair), **rounded}


def measured(name: str) -> dict[str, list[dict[str, Any]]]:
    """A model, trained on in every way without each kind; what was measured before stays."""
    origin, of_model = shipped_teacher(name), rows_in(FILE).get(name, {})
    for removed in Removed:
        if removed not in of_model and shares_of(origin.config, removed):
            whole = [row for row in of_model.get(Removed.WEIGHTS, ()) if not row["share"]]
            series = Retraining(origin=origin, removed=removed)
            found = track(
                series.results(whole),
                total=series.n_steps - len(whole),
                description=f"{name} {removed}",
            )
            of_model[str(removed)] = [*whole, *map(_plain, found)]
    return of_model


if __name__ == "__main__":
    record_models(FILE, measured)
