"""Where rounded shipped models lose their score, measured beforehand, to be seen at once.

    python -m blocks.efficiency.recorded_blame [name ...]

measures it anew: some minutes on a core. On other processors the last digits differ.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from rich.progress import track

from blocks.efficiency.blame_facts import Traced, in_places, trace
from blocks.efficiency.compression import Calibrated
from blocks.efficiency.names import compression_of
from blocks.efficiency.recorded import plain, variant_of
from blocks.efficiency.recording import record_models
from blocks.model.shipped import rows_in, shipped
from blocks.weights.pocket import pocket

FILE = shipped("runs", "blame.json")
DIGITS = 6
USUAL = "int4-keep3", "int3-keep3", "int2-keep3"
VARIANTS = "original", "rounded", "kept", "whole_layer"


def recorded_blame(name: str, kept: str) -> Traced | None:
    """What was traced in a shipped model for a recipe that keeps rows; `None` where it was not."""
    return _all().get(name, {}).get(kept)


@lru_cache(maxsize=1)
def _all() -> Mapping[str, Mapping[str, Traced]]:
    return {
        name: {kept: _read(row) for kept, row in rows.items()}
        for name, rows in rows_in(FILE).items()
    }


def _read(row: Mapping[str, Any]) -> Traced:
    return Traced(in_places(row["blame"]), *(variant_of(row[name]) for name in VARIANTS))


def _plain(traced: Traced) -> dict[str, Any]:
    each = zip(traced.rows["matrix"], traced.rows["blame"], strict=True)
    blame = {matrix: round(nats, DIGITS) for matrix, nats in each}
    return {"blame": blame, **{name: plain(getattr(traced, name)) for name in VARIANTS}}


def measured(name: str) -> dict[str, Any]:
    """The usual recipes, traced in a model."""
    model = Calibrated(pocket(name))
    return {kept: _plain(trace(model, compression_of(kept))) for kept in track(USUAL, name)}


if __name__ == "__main__":
    record_models(FILE, measured)
