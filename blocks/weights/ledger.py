"""The ledger of a file: one row for each of its tensors, where it goes and by which operation."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import pandas as pd
import torch

from blocks.model.config import ModelConfig
from blocks.model.faults import N_, Fault
from blocks.model.models import expected_shapes
from blocks.weights.families import Layout, Place, layout_of, places
from blocks.weights.folder import Stored

NUMBERS = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
}
MOST_FAULTS = 8
Shape = tuple[int, ...]


class State(StrEnum):
    """What became of a tensor of the file, or of one that it should have."""

    USED = "used"
    REPEATED = "repeated"
    ASIDE = "aside"
    MISSING = "missing"
    LEFT_OVER = "left over"
    TWICE = "twice"
    WRONG_SHAPE = "wrong shape"
    NO_NUMBERS = "no numbers"

    @property
    def is_sound(self) -> bool:
        """Whether a model can be made with a row in this state."""
        return self in (State.USED, State.REPEATED, State.ASIDE)


class Entry(NamedTuple):
    """A row. `ours`: the parameters here; `note`: what it repeats, or why it is not needed."""

    key: str
    state: State
    ours: tuple[str, ...] = ()
    operation: str = ""
    shape: Shape | None = None
    expected: Shape | None = None
    dtype: str = ""
    file: str = ""
    note: str = ""


FAULTS = {
    State.MISSING: N_("{key} is missing from the files ({ours} is made of it)"),
    State.LEFT_OVER: N_("{key} has no place in the {family} model that config.json describes"),
    State.TWICE: N_("{key} is in the files twice, under two names"),
    State.WRONG_SHAPE: N_("{key} has shape {shape}, but config.json asks for {expected}"),
    State.NO_NUMBERS: N_("{key} is stored as {dtype}; weights are F64, F32, F16 or BF16"),
}


@dataclass(frozen=True)
class Ledger:
    """All rows: tensors of the files in their order, then those that are missing."""

    family: str
    rows: tuple[Entry, ...]

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What keeps a model from being made, in sentences; the first few, and how many more."""
        found = [row for row in self.rows if not row.state.is_sound]
        said = [Fault(FAULTS[row.state], self._values(row)) for row in found[:MOST_FAULTS]]
        if len(found) > MOST_FAULTS:
            said.append(Fault(N_("and {n} tensors more"), {"n": len(found) - MOST_FAULTS}))
        return tuple(said)

    def frame(self) -> pd.DataFrame:
        """The rows as a table."""
        return pd.DataFrame(self.rows, columns=list(Entry._fields))

    def _values(self, row: Entry) -> dict[str, object]:
        key = row.key if len(row.key) <= 120 else row.key[:120] + "…"
        return {**row._asdict(), "key": key, "ours": ", ".join(row.ours), "family": self.family}


def ledger(family: str, config: ModelConfig, found: Mapping[str, Stored]) -> Ledger:
    """Hold the tensors of some files against what a model of this family needs."""
    layout, shapes = layout_of(family, config), expected_shapes(config)
    plan = places(layout, shapes)
    by_name: dict[str, Stored] = {}
    rows = []
    for key, each in found.items():
        name = known_as(key, layout, plan)
        rows.append(_entry(each, name, layout, plan, by_name, config, shapes))
        if name in plan:
            by_name.setdefault(name, each)
    missing = (Entry(name, State.MISSING, plan[name].ours) for name in plan if name not in by_name)
    return Ledger(family, (*rows, *missing))


def known_as(key: str, layout: Layout, plan: Collection[str]) -> str:
    """The key as newer files of whole models write it, where it is known at all."""
    names = [key]
    for old, new in layout.older.items():
        if key.endswith(old):
            names = [key.removesuffix(old) + new]
    names += [layout.prefix + name for name in names]
    known = (n for n in names if n in plan or n in layout.repeats or _aside(n, layout))
    return next(known, key)


def _aside(name: str, layout: Layout) -> str:
    """Why nothing here needs this tensor; empty where it is not known."""
    found = (why for pattern, why in layout.aside.items() if re.fullmatch(pattern, name, re.ASCII))
    return next(found, "")


def _entry(
    each: Stored,
    name: str,
    layout: Layout,
    plan: Mapping[str, Place],
    met: Mapping[str, Stored],
    config: ModelConfig,
    shapes: Mapping[str, Shape],
) -> Entry:
    row = Entry(each.key, State.LEFT_OVER, (), "", each.shape, None, each.dtype, each.file)
    if name in plan:
        place = plan[name]
        expected = shape_in_file(place, config, shapes)
        row = row._replace(ours=place.ours, operation=place.operation.name, expected=expected)
        return row._replace(state=_state(each, name in met, expected))
    if name in layout.repeats:
        return row._replace(state=State.REPEATED, note=layout.repeats[name])
    why = _aside(name, layout)
    return row._replace(state=State.ASIDE, note=why) if why else row


def _state(each: Stored, is_met: bool, expected: Shape) -> State:
    if is_met:
        return State.TWICE
    if each.dtype not in NUMBERS:
        return State.NO_NUMBERS
    return State.USED if each.shape == expected else State.WRONG_SHAPE


def shape_in_file(place: Place, config: ModelConfig, shapes: Mapping[str, Shape]) -> Shape:
    """The shape that a tensor of the file has; nothing is allocated."""
    parts = [torch.empty(shapes[name], device="meta") for name in place.ours]
    return tuple(place.operation.give(parts, config).shape)
