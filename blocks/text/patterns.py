"""How long a regular expression of a file may search, told by looking at it.

A backtracking search tries every way in which the repeated parts of a pattern can share a text
between them: `(x+x+)+y` has more ways than can be tried. Only what is certain to end soon is
accepted; the patterns of published tokenizers are: alternatives with a run of characters each.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

RUN, LONGEST, MOST_TIMES = 2**12, 20_000, 1000
"""Characters that a repeated part may take; of a pattern; times in braces, as in `\\d{1,3}`."""

_ESCAPE = (
    r"\\(?:[pP]\{\^?[\w ]+\}|[sSdDwWhHrntfv]|u[\da-fA-F]{4}|x[\da-fA-F]{2}|x\{[\da-fA-F]+\}"
    r"|[^\w])"
)
_PLAIN = rf"(?:{_ESCAPE}|[^\\\[\]])"
_INNER = rf"\[\^?{_PLAIN}+\]"
_CLASS = rf"\[\^?(?:{_PLAIN}|{_INNER})(?:{_PLAIN}|{_INNER})*\]"
_PART = re.compile(
    rf"""
    (?P<open>\((?:\?(?:i?:|[=!>]|<[=!]))?)
    |(?P<close>\))
    |(?P<bar>\|)
    |(?P<least>\{{(?P<from>\d+)(?:(?P<comma>,)(?P<to>\d*))?\}})
    |(?P<sign>[*+?])(?P<suffix>[+?]?)
    |(?P<place>\\[bBAzZ]|[\^$])
    |(?P<atom>{_ESCAPE}|{_CLASS}|[^\\()\[{{|*+?^$])
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Search:
    """What is tried of a part of a pattern at one place of a text of `RUN` characters, at most.

    `tries`: until it has matched; `ways`: of all in which it can match, which are tried where what
    follows fails. `always`: it matches everywhere; `empty`: it may match nothing.
    """

    tries: int
    ways: int
    always: bool
    empty: bool


ONE = Search(1, 1, always=False, empty=False)
NOTHING = Search(1, 1, always=False, empty=True)  # what looks about, or is a place


def search(pattern: str) -> Search | None:
    """What is tried of a pattern; None where that cannot be told."""
    if len(pattern) > LONGEST:
        return None
    try:
        parts = _Parts(pattern)
        found = _alternatives(parts)
        return None if parts.now else found
    except (ValueError, RecursionError):
        return None


class _Parts:
    """The parts of a pattern, one after the other. Raises `ValueError` at what is none."""

    def __init__(self, pattern: str) -> None:
        self._left = _parts(pattern)
        self.now = next(self._left, None)

    def take(self) -> re.Match[str]:
        found = self.now
        if found is None:
            raise ValueError("the pattern ends too early")
        self.now = next(self._left, None)
        return found

    def has(self, *kinds: str) -> bool:
        return self.now is not None and any(self.now[kind] is not None for kind in kinds)


def _parts(pattern: str) -> Iterator[re.Match[str]]:
    place = 0
    while place < len(pattern):
        found = _PART.match(pattern, place)
        if found is None:
            raise ValueError(f"not understood: {pattern[place:]!r}")
        yield found
        place = found.end()


def _alternatives(parts: _Parts) -> Search:
    """One sequence or another, up to a closing bracket."""
    found = [_sequence(parts)]
    while parts.has("bar"):
        parts.take()
        found.append(_sequence(parts))
    return Search(
        sum(each.tries for each in found),
        sum(each.ways for each in found),
        any(each.always for each in found),
        any(each.empty for each in found),
    )


def _sequence(parts: _Parts) -> Search:
    """A part is tried after every way of those before it, up to the last that may fail."""
    items = []
    while parts.has("atom", "place", "open"):
        items.append(_repeated(parts, _item(parts)))
    last = max((i for i, item in enumerate(items) if not item.always), default=-1)
    tries, before = 0, 1
    for i, item in enumerate(items):
        tries += item.tries * (before if i <= last else 1)
        before *= item.ways
    return Search(tries, before, last < 0, all(item.empty for item in items))


def _item(parts: _Parts) -> Search:
    found = parts.take()
    kind = found["open"]
    if kind is None:
        return NOTHING if found["place"] else ONE
    inner = _alternatives(parts)
    if parts.take()["close"] is None:
        raise ValueError("a bracket is not closed")
    if kind in ("(", "(?:", "(?i:"):
        return inner
    return Search(max(inner.tries, inner.ways), 1, always=False, empty=True)


def _repeated(parts: _Parts, item: Search) -> Search:
    """The item with what says how often it stands there."""
    if not parts.has("sign", "least"):
        return item
    least, most = _bounds(parts.take())
    if parts.has("sign", "least"):
        raise ValueError("repeated twice")
    if item.empty or (most is None and item.ways > 1):
        raise ValueError("what is repeated can itself be read in several ways")
    always = empty = least == 0
    if most is None:
        return Search(1 if item == ONE else RUN * item.tries, RUN, always, empty)
    if not least <= most <= MOST_TIMES:
        raise ValueError(f"repeated {most} times")
    ways = sum(item.ways**n for n in range(least, most + 1))
    return Search(most * item.tries, ways, always, empty)


def _bounds(found: re.Match[str]) -> tuple[int, int | None]:
    """How often at least and at most; None: as often as there is."""
    if found["sign"]:
        return int(found["sign"] == "+"), 1 if found["sign"] == "?" else None
    least = int(found["from"])
    if not found["comma"]:
        return least, least
    return least, int(found["to"]) if found["to"] else None
