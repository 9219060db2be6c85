"""Finished trainings that ship with us, to open where time is short: `make runs` trains them."""

import dataclasses
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from blocks.model.shipped import rows_in, shipped
from blocks.training.spec import TrainingSpec

FILE = shipped("runs", "recorded.json")
DIGITS = 4


@dataclass(frozen=True)
class Look:
    """A model after `step` updates, where nothing stands behind the token that it is to write.

    `loss`: mean over held-out texts, in nats. `grammatical`: share of the sentences it writes.
    """

    step: int
    loss: float
    grammatical: float
    text: str


@dataclass(frozen=True)
class Learned:
    """One training as far as it went: the loss before each update, in nats, and the looks."""

    losses: tuple[float, ...]
    looks: tuple[Look, ...]


def recorded(spec: TrainingSpec) -> Learned | None:
    """The finished training of a spec, on whatever device, where one ships."""
    return _all().get(dataclasses.replace(spec, device="cpu"))


@lru_cache(maxsize=1)
def _all() -> Mapping[TrainingSpec, Learned]:
    """All of them, read once."""
    rows = rows_in(FILE)
    return {TrainingSpec.from_plain(row["spec"]): _read(row) for row in rows}


def _read(row: Mapping[str, Any]) -> Learned:
    return Learned(tuple(row["losses"]), tuple(Look(**look) for look in row["looks"]))


def plain(spec: TrainingSpec, learned: Learned) -> dict[str, Any]:
    """A row of the file: numbers and strings, losses rounded."""
    return {
        "spec": spec.plain(),
        "losses": [round(loss, DIGITS) for loss in learned.losses],
        "looks": [{**asdict(look), "loss": round(look.loss, DIGITS)} for look in learned.looks],
    }
