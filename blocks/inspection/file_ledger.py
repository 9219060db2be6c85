"""A ledger in short: tensors that are alike in every layer are one row."""

import re
from collections import Counter
from dataclasses import dataclass

from blocks.model.config import ModelConfig
from blocks.model.faults import ConfigError
from blocks.weights.config_write import family_of
from blocks.weights.families import plan_of
from blocks.weights.ledger import Entry, Ledger, State, planned

NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")
KINDS = re.compile(r"\.(weight|bias)$")


@dataclass(frozen=True)
class Group:
    """Tensors of a file that go to the same place in every layer; layers are written *."""

    theirs: str
    ours: tuple[str, ...]
    operation: str
    state: State
    n_tensors: int
    n_numbers: int
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class LedgerFacts:
    """Where the tensors of a file went; or where they would go, were the model saved.

    `name`: of the file; empty where there is none.
    """

    name: str
    ledger: Ledger
    groups: tuple[Group, ...]

    @property
    def n_in(self) -> dict[State, int]:
        """How many tensors there are in each state."""
        return dict(Counter(row.state for row in self.ledger.rows))

    @property
    def n_by_operation(self) -> dict[str, int]:
        """How many tensors went through each operation, the commonest first."""
        used = (row.operation for row in self.ledger.rows if row.state is State.USED)
        return dict(Counter(used).most_common())

    @property
    def n_odd(self) -> int:
        """How many keep a model from being made."""
        return sum(not row.state.is_sound for row in self.ledger.rows)


def ledger_facts(ledger: Ledger, name: str = "") -> LedgerFacts:
    """The ledger of a file, or of the file that a model would make."""
    rows: dict[tuple[object, ...], list[Entry]] = {}
    for row in ledger.rows:
        key = (_stem(row.key), _stems(row.ours), row.operation, row.state)
        rows.setdefault(key, []).append(row)
    return LedgerFacts(name, ledger, tuple(map(_group, rows.values())))


def planned_ledger(config: ModelConfig) -> Ledger | None:
    """Where everything would go in the files of the first family that has such models."""
    try:
        return planned(plan_of(family_of(config), config))
    except ConfigError:
        return None


def _group(rows: list[Entry]) -> Group:
    first, kinds = rows[0], (KINDS.search(row.key) for row in rows)
    return Group(
        theirs=_stem(first.key),
        ours=_stems(first.ours),
        operation=first.operation,
        state=first.state,
        n_tensors=len(rows),
        n_numbers=sum(_size(row.shape or row.expected or ()) for row in rows),
        kinds=tuple(dict.fromkeys(found[1] for found in kinds if found)),
    )


def _stems(ours: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(_stem, ours)))


def _stem(key: str) -> str:
    return KINDS.sub("", NUMBER.sub("*", key))


def _size(shape: tuple[int, ...]) -> int:
    n = 1
    for each in shape:
        n *= each
    return n
