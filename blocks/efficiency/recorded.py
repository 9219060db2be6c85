"""Variants of the shipped models, measured beforehand, to be seen at once.

    python -m blocks.efficiency.recorded [--only-missing] [name ...]

measures them anew: some ten minutes on a core. With `--only-missing` what is there stays, and the
rest is measured beside the original; a model that another processor measured, or whose tokens were
not timed, is measured anew. Bytes are the same everywhere, losses and scores in their first digits;
times are those of the processor that the file names.
"""

import dataclasses
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from rich.progress import track

from blocks.cost.timing import measure_in_rounds
from blocks.efficiency.compression import Calibrated
from blocks.efficiency.frontier import (
    READY,
    Method,
    Variant,
    examined,
    make,
    one_batch,
    one_token,
    ready,
)
from blocks.efficiency.names import compression_of
from blocks.efficiency.pruning_facts import Pruned, in_order
from blocks.efficiency.recording import record_models
from blocks.model.config import ModelConfig
from blocks.model.devices import device_name
from blocks.model.shipped import rows_in, shipped
from blocks.weights.pocket import pocket

FILE = shipped("runs", "variants.json")
DIGITS = 5
ONLY_MISSING = "--only-missing"


class Recorded(NamedTuple):
    """The variants of one model by their names, and the processor that measured all of them."""

    variants: Mapping[str, Variant]
    processor: str

    @property
    def ready(self) -> tuple[Variant, ...]:
        """The ready set, the original first."""
        return tuple(self.variants[name] for name in READY if name in self.variants)


def recorded(name: str) -> Recorded | None:
    """The variants of a shipped model, where they were measured."""
    return _all().get(name)


@lru_cache(maxsize=1)
def _all() -> Mapping[str, Recorded]:
    rows = rows_in(FILE)
    return {name: _read(row) for name, row in rows.items()}


def _read(row: Mapping[str, Any]) -> Recorded:
    return Recorded({each["name"]: variant_of(each) for each in row["variants"]}, row["processor"])


def variant_of(row: Mapping[str, Any]) -> Variant:
    """A variant as a file holds it."""
    tuples = {name: tuple(row[name]) for name in ("scores", "beside") if row.get(name)}
    return Variant(**{**row, **tuples, "method": Method(row["method"])})


def plain(variant: Variant) -> dict[str, Any]:
    """A variant as a file holds it: plain values, rounded."""
    values = dataclasses.asdict(variant)
    scores = [round(score, DIGITS) for score in variant.scores]
    rounded = {
        "held_out_loss": round(variant.held_out_loss, DIGITS),
        "scores": scores,
        "seconds": _brief(variant.seconds),
        "token_seconds": variant.token_seconds and _brief(variant.token_seconds),
        "beside": variant.beside and [*map(_brief, variant.beside)],
    }
    return {**values, **rounded, "method": str(variant.method)}


def _brief(seconds: float) -> float:
    """To three digits: a time is no more exact."""
    return float(f"{seconds:.3g}")


def _shown(config: ModelConfig) -> list[str]:
    """The ready set, and what is taken out in steps."""
    taken_out = [name for pruned in Pruned for _by, name in in_order(config, pruned)]
    return [*dict.fromkeys([*ready(config), *taken_out])]


def measured(name: str) -> dict[str, Any]:
    """What the panels show of a model."""
    model = Calibrated(pocket(name))
    found = _variants(name, model, _shown(model.file.config))
    return {"processor": device_name("cpu"), "variants": [*map(plain, found)]}


def with_missing(name: str) -> dict[str, Any]:
    """The row of a model with what it lacks, or all of it anew where the times would not fit."""
    row = rows_in(FILE).get(name, {"processor": "", "variants": []})
    is_timed = all(each.get("token_seconds") for each in row["variants"])
    if row["processor"] != device_name("cpu") or not is_timed:
        return measured(name)
    model, there = Calibrated(pocket(name)), {each["name"] for each in row["variants"]}
    missing = [recipe for recipe in _shown(model.file.config) if recipe not in there]
    if not missing:
        return row
    original, *found = _variants(name, model, ["", *missing])
    beside = original.seconds, original.token_seconds or 0.0
    new = [plain(dataclasses.replace(each, beside=beside)) for each in found]
    return {**row, "variants": [*row["variants"], *new]}


def _variants(name: str, model: Calibrated, recipes: Iterable[str]) -> list[Variant]:
    """Each of them; times are those of batches, then of tokens, in turn."""
    hows = [compression_of(recipe) for recipe in recipes]
    made = [make(model, how) for how in track(hows, description=name)]
    batches, tokens = (
        measure_in_rounds([work(model, each) for each in made], "cpu")
        for work in (one_batch, one_token)
    )
    return [examined(model, *each) for each in zip(made, batches, tokens, strict=True)]


if __name__ == "__main__":
    record_models(FILE, with_missing if ONLY_MISSING in sys.argv else measured)
