"""What the reader moved, and what the browser only repeats.

A fast second move is made while the page is still redrawn after the first. What was on its way by
then can set another widget back in the browser, which sends that old value along: an echo, no move.
"""

import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from pages.session.slot import Slot

AS_LONG_AS_AN_ECHO = 3.0  # seconds
NOTHING = object()


class Left(NamedTuple):
    """A value that a widget shows no more, and since when."""

    key: str
    shown: Any
    at: float


class Move(NamedTuple):
    """A widget has another value: the state before and after.

    `left_at`: when the widget ceased to show this value, where that was a moment ago.
    """

    key: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    left_at: float | None

    @property
    def goes_back(self) -> bool:
        return self.left_at is not None


SHOWING = Slot[Mapping[str, Any]]("showing", {})  # by the key of a widget
DRAWN = Slot[Collection[str]]("drawn", ())
LEFT = Slot[Sequence[Left]]("left", ())
MOVES = Slot[tuple[Move, ...]]("moves", ())


def show(key: str, shown: Any) -> None:
    """Let a widget show this; left alone where it does, since the reader may have moved on.

    Where that is new, an echo can repeat what it showed before.
    """
    showing = SHOWING.get()
    widget = Slot[Any](key, NOTHING)
    if key not in showing or widget.get() != shown:
        widget.keep(shown)
    before = showing.get(key, shown)
    if before != shown:
        LEFT.keep([*_left(), Left(key, before, time.monotonic())])
    SHOWING.keep({**showing, key: shown})
    DRAWN.keep({*DRAWN.get(), key})


def forget_shown() -> None:
    SHOWING.take()


def begin() -> None:
    """Where all that moves is drawn anew: from here on it is noted what is."""
    DRAWN.keep(())


def forget_gone() -> None:
    """Once all stands, what was not drawn starts anew where it comes back.

    The browser has forgotten it, though Streamlit keeps what widgets of a fragment within one that
    reruns have shown.
    """
    showing, drawn = SHOWING.get(), DRAWN.get()
    SHOWING.keep({key: shown for key, shown in showing.items() if key in drawn})


def note(key: str, moved_to: Any, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """A widget was moved to this value, which changed the state so."""
    times = [each.at for each in _left() if (each.key, each.shown) == (key, moved_to)]
    left_at = max(times, default=None)
    MOVES.keep((*MOVES.get(), Move(key, before, after, left_at)))


def noted() -> Sequence[Move]:
    """The moves of this rerun; asked once."""
    return MOVES.take()


def _left() -> list[Left]:
    now = time.monotonic()
    return [each for each in LEFT.get() if now - each.at < AS_LONG_AS_AN_ECHO]


def without_echoes(values: Mapping[str, Any], moves: Sequence[Move]) -> dict[str, Any]:
    """The state without what went back while another widget was moved by the reader."""
    moved, values = _moved_by_the_reader(moves), dict(values)
    for move in reversed(moves):
        if move.goes_back and move.key not in moved:
            before, after = move.before, move.after
            names = {name for name in (*before, *after) if _differ(before, after, name)}
            names = {name for name in names if not _differ(values, after, name)}
            rest = {name: found for name, found in values.items() if name not in names}
            values = rest | {name: before[name] for name in names if name in before}
    return values


def _moved_by_the_reader(moves: Sequence[Move]) -> set[str]:
    """Where all go back, one of them by hand: that left longest ago, since echoes come at once."""
    times = {move.key: move.left_at or 0.0 for move in moves}
    return {key for key, left_at in times.items() if left_at == min(times.values())}


def _differ(one: Mapping[str, Any], other: Mapping[str, Any], name: str) -> bool:
    return bool(one.get(name, NOTHING) != other.get(name, NOTHING))
