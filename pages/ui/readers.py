"""How the values in a link are read: each of its type, within its bounds, or refused."""

import math
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from blocks.text.sampling import LEAST_TEMPERATURE
from pages.ui.settings import MAX_CHARACTERS

MOST_SHOWN_TEMPERATURE = 2.0


class UnreadableError(ValueError):
    """A value in a link that cannot be; `nearest` is used instead, or the default."""

    def __init__(self, nearest: Any = None):
        super().__init__()
        self.nearest = nearest


class Field(NamedTuple):
    """How a value is read from a link, and its default (a function of the others, or a value)."""

    read: Callable[[str], Any]
    default: Any


def whole(least: int, most: int) -> Callable[[str], int]:
    """Read a whole number within bounds."""

    def read(text: str) -> int:
        try:
            value = int(text[:32])
        except ValueError:
            raise UnreadableError from None
        if not least <= value <= most:
            raise UnreadableError(min(max(value, least), most))
        return value

    return read


def number(text: str) -> float:
    """Read a finite number."""
    try:
        value = float(text)
    except ValueError:
        raise UnreadableError from None
    if not math.isfinite(value):
        raise UnreadableError
    return value


def within(least: float, most: float) -> Callable[[str], float]:
    """Read a number within bounds."""

    def read(text: str) -> float:
        value = number(text)
        if not least <= value <= most:
            raise UnreadableError(min(max(value, least), most))
        return value

    return read


def temperature(text: str) -> float:
    """Read 0 (greedy), or a number that logits can be divided by."""
    value = within(0.0, MOST_SHOWN_TEMPERATURE)(text)
    if 0 < value < LEAST_TEMPERATURE:
        raise UnreadableError(LEAST_TEMPERATURE)
    return value


def identifier(text: str) -> str:
    """Read what a run may be called, or nothing."""
    if not re.fullmatch("[A-Za-z0-9_-]{0,40}", text):
        raise UnreadableError
    return text


def choice(options: Iterable[str]) -> Callable[[str], str]:
    """Read one of several words."""
    words = [str(option) for option in options]

    def read(text: str) -> str:
        if text not in words:
            raise UnreadableError
        return text

    return read


def flag(text: str) -> bool:
    """Read true or false."""
    return choice(("true", "false"))(text) == "true"


def sentence(text: str) -> str:
    """Read any text, cut to what a link can carry."""
    if len(text) > MAX_CHARACTERS:
        raise UnreadableError(text[:MAX_CHARACTERS])
    return text
