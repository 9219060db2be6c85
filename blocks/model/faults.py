"""What is wrong with a value, and how to mend it."""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar


def N_(text: str) -> str:  # noqa: N802
    """Mark a text for translation; gettext's own name for it."""
    return text


@dataclass(frozen=True)
class Fault:
    """One thing that cannot be, with its mend.

    `text` is a template and `values` fill it, so that an interface can say the same in
    another language. `mend` holds the nearest values that are legal, by field name.
    """

    text: str
    values: Mapping[str, object] = field(default_factory=dict)
    mend: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.text.format(**self.values)


class ConfigError(ValueError):
    """A configuration that cannot be built; lists every fault with its mend."""

    def __init__(self, faults: Iterable[Fault]):
        self.faults = tuple(faults)
        super().__init__("\n".join(map(str, self.faults)))


class UnknownNameError(ConfigError, KeyError):
    """A name that is not among those that there are; the nearest are told."""

    __str__ = ValueError.__str__


def nearest_names(name: object, names: Iterable[str], n: int = 3) -> str:
    """List the names that one may be a slip of, the likeliest first, with commas between."""
    return ", ".join(difflib.get_close_matches(str(name), [*names], n, cutoff=0.0))


def unknown_fault(text: str, name: str, names: Iterable[str]) -> Fault:
    """Return the fault of a name that is not there; `text` says so with {name} and {names}."""
    return Fault(text, {"name": name, "names": nearest_names(name, names)})


T = TypeVar("T")


class Table(dict[str, T]):
    """Values by name; a name that is not there raises `UnknownNameError`, which tells the nearest.

    `text` says so, with {name} and {names}.
    """

    def __init__(self, text: str, values: Mapping[str, T]):
        super().__init__(values)
        self.text = text

    def __missing__(self, name: str) -> T:
        raise UnknownNameError([unknown_fault(self.text, name, self)])
