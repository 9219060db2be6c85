"""The ledger of a file: one row for each of its tensors, where it goes and by which operation."""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import pandas as pd
import torch

from blocks.model.faults import N_, Fault
from blocks.weights import mxfp4
from blocks.weights.families import Layout, Plan
from blocks.weights.folder import GGUF, Stored
from blocks.weights.gguf_file import ROUNDED, rounded_bytes
from blocks.weights.multimodal import PARTS

NUMBERS = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    mxfp4.MXFP4: torch.bfloat16,
    **dict.fromkeys(ROUNDED, torch.float32),
}
MOST_FAULTS, MOST_NAMED = 8, 4
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
    State.MISSING: N_("{key} is missing from the files (needed for {ours})"),
    State.LEFT_OVER: N_(
        "{key} has no place in the {family} model that the configuration describes"
    ),
    State.TWICE: N_("{key} is in the files twice, under two names"),
    State.WRONG_SHAPE: N_("{key} has shape {shape}, but the configuration asks for {expected}"),
    State.NO_NUMBERS: N_(
        "{key} is stored as {dtype}; weights must be F64, F32, F16, BF16, MXFP4 with its "
        "scales, or a quantized GGUF format (Q2_K to Q8_0)"
    ),
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
            said.append(Fault(N_("and {n} more"), {"n": len(found) - MOST_FAULTS}))
        return tuple(said)

    @property
    def read(self) -> tuple[Entry, ...]:
        """The tensors that become parameters here; the exponents of others are read with those."""
        used = (row for row in self.rows if row.state is State.USED)
        return tuple(row for row in used if row.dtype != mxfp4.E8M0)

    @property
    def names(self) -> dict[tuple[str, ...], str]:
        """What the files call the tensor that becomes these parameters; nothing that is packed.

        A GGUF file has names that no other format has.
        """
        own = (row for row in self.read if not row.file.endswith(GGUF))
        return {row.ours: row.key for row in own if row.dtype != mxfp4.MXFP4}

    @property
    def left_out(self) -> dict[str, tuple[int, int]]:
        """Parts of a larger model that are not opened: how many tensors and bytes each has."""
        found: dict[str, tuple[int, int]] = {}
        for row in self.rows:
            if row.state is State.ASIDE and row.note in PARTS.values():
                n_tensors, n_bytes = found.get(row.note, (0, 0))
                found[row.note] = (n_tensors + 1, n_bytes + _bytes(row))
        return found

    @property
    def rounded(self) -> dict[str, int]:
        """The rounded formats of GGUF that tensors lie in: how many bytes each takes in all."""
        found: dict[str, int] = {}
        for row in self.read:
            if row.dtype in ROUNDED and row.shape:
                n_bytes = rounded_bytes(row.dtype, row.shape)
                found[row.dtype] = found.get(row.dtype, 0) + n_bytes
        return found

    def frame(self) -> pd.DataFrame:
        """The rows as a table."""
        return pd.DataFrame(self.rows, columns=list(Entry._fields))

    def _values(self, row: Entry) -> dict[str, object]:
        key = row.key if len(row.key) <= 120 else row.key[:120] + "…"
        ours = row.ours if len(row.ours) <= MOST_NAMED else (*row.ours[:MOST_NAMED], "…")
        return {**row._asdict(), "key": key, "ours": ", ".join(ours), "family": self.family}


def _bytes(row: Entry) -> int:
    """Of a plain tensor, whose format names the bits of a number."""
    bits = re.search(r"\d+", row.dtype)
    return math.prod(row.shape or ()) * (int(bits[0]) // 8 if bits else 1)


def ledger(plan: Plan, found: Mapping[str, Stored]) -> Ledger:
    """Hold the tensors of some files against what a model of this family needs."""
    met: set[str] = set()
    rows = []
    for key, each in found.items():
        name = known_as(key, plan.layout, plan.places)
        rows.append(_entry(each, name, plan, is_met=name in met))
        met.add(name)
    rows = [*_with_exponents(rows, found)]
    missing = (
        Entry(name, State.MISSING, place.ours)
        for name, place in plan.places.items()
        if name not in met
    )
    return Ledger(plan.family, (*rows, *missing))


def _with_exponents(rows: Iterable[Entry], found: Mapping[str, Stored]) -> Iterator[Entry]:
    """Scales become what their blocks become."""
    rows = [*rows]
    by_key = {row.key: row for row in rows}
    packed = (each for each in found.values() if isinstance(each, mxfp4.Packed))
    blocks = {each.scales.key: by_key[each.key] for each in packed}
    for row in rows:
        if row.key in blocks:
            whole = blocks[row.key]
            state = whole.state if whole.state.is_sound else State.ASIDE  # one fault is enough
            row = row._replace(state=state, ours=whole.ours, dtype=mxfp4.E8M0)
            row = row._replace(operation=mxfp4.EXPONENTS, note=mxfp4.EXPONENTS)
        yield row


def planned(plan: Plan) -> Ledger:
    """The ledger of the files that a model of this family makes."""
    rows = []
    for key, place in plan.places.items():
        shape = place.operation.shape([plan.shapes[our] for our in place.ours])
        rows.append(Entry(key, State.USED, place.ours, place.operation.name, shape, shape))
    return Ledger(plan.family, tuple(rows))


def known_as(key: str, layout: Layout, places: Collection[str]) -> str:
    """The key as newer files of whole models write it, where it is known at all."""
    names = [key]
    for old, new in layout.older.items():
        if key.endswith(old):
            names = [key.removesuffix(old) + new]
    names += [
        now + key.removeprefix(front)
        for front, now in layout.fronts.items()
        if key.startswith(front)
    ]
    names += [layout.prefix + name for name in names]
    known = (n for n in names if n in places or n in layout.repeats or _aside(n, layout))
    return next(known, key)


def _aside(name: str, layout: Layout) -> str:
    """Why nothing here needs this tensor; empty where it is not known."""
    found = (why for pattern, why in layout.aside.items() if re.fullmatch(pattern, name, re.ASCII))
    return next(found, "")


def _entry(each: Stored, name: str, plan: Plan, *, is_met: bool) -> Entry:
    row = Entry(each.key, State.LEFT_OVER, (), "", each.shape, None, each.dtype, each.file)
    if name in plan.places:
        place = plan.places[name]
        expected = place.operation.shape([plan.shapes[our] for our in place.ours])
        row = row._replace(ours=place.ours, operation=place.operation.name, expected=expected)
        return row._replace(state=_state(each, is_met, expected))
    if name in plan.layout.repeats:
        return row._replace(state=State.REPEATED, note=plan.layout.repeats[name])
    why = _aside(name, plan.layout)
    return row._replace(state=State.ASIDE, note=why) if why else row


def _state(each: Stored, is_met: bool, expected: Shape) -> State:
    if is_met:
        return State.TWICE
    if each.dtype not in NUMBERS:
        return State.NO_NUMBERS
    return State.USED if each.shape == expected else State.WRONG_SHAPE
