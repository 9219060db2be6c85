"""How an option of a model is declared: once, beside its type and its default.

Whoever checks, compares, offers, reads or writes options asks the declaration.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

from blocks.model.faults import N_, Fault

LARGEST_SIZE, LARGEST_CAP, LARGEST_FACTOR = 1_000_000, 1e6, 1e4
FROM_TO = N_("{name} ({value}) must be from {least} to {most}: use {mend}")
TOO_MANY = N_("{name} ({value}) is more than can be built here: use {mend}")
Check = Callable[[str, Any, Any], Fault | None]  # name, value, default


@dataclass(frozen=True)
class Where:
    """A question about a configuration; joined by & and |, turned round by ~."""

    asks: Callable[[Any], Any]

    def __call__(self, config: Any) -> bool:
        """Ask it."""
        return bool(self.asks(config))

    def __and__(self, other: "Where") -> "Where":
        return Where(lambda config: self(config) and other(config))

    def __or__(self, other: "Where") -> "Where":
        return Where(lambda config: self(config) or other(config))

    def __invert__(self) -> "Where":
        return Where(lambda config: not self(config))


ALWAYS = Where(lambda config: True)


@dataclass(frozen=True)
class Between:
    """Check that a number is within bounds; where `is_open`, the lower one is none itself.

    The mend is the nearest bound, or the default where that is open. `above`: what is said of
    numbers beyond the upper bound.
    """

    least: float = 1
    most: float = LARGEST_SIZE
    text: str = FROM_TO
    above: str = ""
    is_open: bool = False

    def __call__(self, name: str, value: Any, default: Any) -> Fault | None:
        """Return the fault of a value, None where it is within the bounds."""
        if self.least <= value <= self.most and not (self.is_open and value == self.least):
            return None
        mend = default if self.is_open else min(max(value, self.least), self.most)
        text = self.above if self.above and value > self.most else self.text
        said = {"name": name, "value": brief(value), "mend": mend}
        return Fault(text, {**said, "least": self.least, "most": self.most}, {name: mend})


SIZE, SIZE_OR_NONE = Between(), Between(0)
CAP = Between(
    0.0, LARGEST_CAP, N_("{name} ({value}) must be 0 (none) or a number up to {most}: use {mend}")
)
SCALE = Between(
    0.0,
    LARGEST_CAP,
    N_("{name} ({value}) must be above 0 and at most {most}: use {mend}"),
    is_open=True,
)


def check_factors(name: str, value: str, default: str) -> Fault | None:
    """Check a list of factors; that there is one for each pair, a narrower model need not know."""
    if factors(value) is not None:
        return None
    text = N_(
        "{name} must be empty or a comma-separated list of numbers above 0 and at "
        "most {most}: leave it empty"
    )
    return Fault(text, {"name": name, "most": LARGEST_FACTOR}, {name: default})


def factors(text: str) -> tuple[float, ...] | None:
    """The numbers of a text, with commas between; None where it has anything else."""
    try:
        found = tuple(float(each) for each in text.split(",")) if text else ()
    except ValueError:
        return None
    return found if all(0 < each <= LARGEST_FACTOR for each in found) else None


class Bar(NamedTuple):
    """Where an option must keep its default, and what is said of another value."""

    where: Where
    text: str


@dataclass(frozen=True)
class Option:
    """One field of a configuration.

    `check`: its bounds. `where`: in which configurations another value makes another model.
    `acts`: whether the value that it has does something there. `bar`: where it may not have
    another value than its default. `follows`: the field that decides where it is None.
    """

    default: Any
    check: Check | None = None
    where: Where = ALWAYS
    acts: Where = ALWAYS
    bar: Bar | None = None
    follows: str = ""
    name: str = ""
    kind: Any = None
    read: Callable[[Any], Any] = attrgetter("")

    def named(self, name: str, kind: Any, read: Callable[[Any], Any]) -> "Option":
        """Return a copy with its place in a configuration."""
        return dataclasses.replace(self, name=name, kind=kind, read=read)


def option(default: Any, check: Check | None = None, **more: Any) -> Any:
    """Declare an option as a field of a dataclass; `more` as in `Option`.

    A whole number without bounds is a size, from 1 or, where that is its default, from 0.
    """
    if type(default) is int and check is None:
        check = SIZE if default else SIZE_OR_NONE
    declared = Option(default, check, **more)
    return dataclasses.field(default=default, metadata={"option": declared})


def brief(value: object, most: int = 40) -> str:
    """A value as it can be shown, however long it is."""
    if type(value) is int and value.bit_length() > 4 * most:
        return f"{'-' if value < 0 else ''}2^{value.bit_length() - 1}…"
    text = repr(value)
    return text if len(text) <= most else text[:most] + "…"
