"""How the values in a link are read: each of its type, within its bounds, or refused."""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, get_args

from blocks.model import options
from blocks.text.sampling import LEAST_TEMPERATURE
from pages.server.settings import MAX_CHARACTERS, TYPED_CHARACTERS

MOST_SHOWN_TEMPERATURE = 2.0
FLAGS = ("true", "false")


class UnreadableError(ValueError):
    """A value in a link that cannot be; `nearest` is used instead, or the default."""

    def __init__(self, nearest: Any = None):
        super().__init__()
        self.nearest = nearest


class Field(NamedTuple):
    """How a value is read from a link, and its default (a function of the others, or a value)."""

    read: Callable[[str], Any]
    default: Any


@dataclass(frozen=True)
class Between:
    """Read a number within bounds, which a control for it has too."""

    parse: Callable[[str], Any]
    least: float
    most: float

    def __call__(self, text: str) -> Any:
        """The number, or else the nearest that may be."""
        value = self.parse(text)
        if not self.least <= value <= self.most:
            raise UnreadableError(min(max(value, self.least), self.most))
        return value


def whole(least: int, most: int) -> Between:
    return Between(_whole_number, least, most)


def _whole_number(text: str) -> int:
    try:
        return int(text[:32])
    except ValueError:
        raise UnreadableError from None


def number(text: str) -> float:
    """Read a finite number."""
    try:
        value = float(text)
    except ValueError:
        raise UnreadableError from None
    if not math.isfinite(value):
        raise UnreadableError
    return value


def within(least: float, most: float) -> Between:
    return Between(number, least, most)


def _divisor(text: str) -> float:
    """0 (greedy), or a number that logits can be divided by."""
    value = number(text)
    if 0 < value < LEAST_TEMPERATURE:
        raise UnreadableError(LEAST_TEMPERATURE)
    return value


temperature = Between(_divisor, 0.0, MOST_SHOWN_TEMPERATURE)


def identifier(text: str) -> str:
    """Read what a run or a panel may be called, or nothing."""
    if not re.fullmatch("[A-Za-z0-9_-]{0,40}", text):
        raise UnreadableError
    return text


@dataclass(frozen=True)
class OneOf:
    """Read one of several words."""

    options: tuple[str, ...]

    def __call__(self, text: str) -> str:
        """The word as it is."""
        if text not in self.options:
            raise UnreadableError
        return text


def choice(options: Iterable[object]) -> OneOf:
    return OneOf(tuple(str(option) for option in options))


def flag(text: str) -> bool:
    return choice(FLAGS)(text) == "true"


def sentence(text: str) -> str:
    """Read any text, cut to what a session holds."""
    if len(text) > TYPED_CHARACTERS:
        raise UnreadableError(text[:TYPED_CHARACTERS])
    return text


def factors(text: str) -> str:
    """Read numbers above 0 with commas between, or nothing."""
    if len(text) > MAX_CHARACTERS or options.factors(text) is None:
        raise UnreadableError
    return text


def of_type(kind: Any) -> Callable[[str], Any]:
    """Read a field of a configuration: of the right type only, what fits what it decides itself."""
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return choice(kind)
    if kind is str:
        return factors
    if kind is bool or bool in get_args(kind):
        return flag
    is_whole = kind is int or int in get_args(kind)
    return whole(-(10**9), 10**9) if is_whole else number


def as_text(found: Any) -> str:
    return str(found).lower() if isinstance(found, bool) else str(found)
