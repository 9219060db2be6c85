"""Where the points of a sweep are trained: here, or on other machines."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from blocks.sweep.job import Done, Saved
from blocks.sweep.point import Point
from blocks.training.events import Event


@dataclass(frozen=True)
class Began:
    """A point is trained from now on, at this place."""

    place: str


@dataclass(frozen=True)
class Waits:
    """A point waits for so many others; with none before it, for its process to start."""

    n_before: int


@dataclass(frozen=True)
class Retried:
    """What trained it ended; it goes on from its last checkpoint."""

    how: str


class Told(NamedTuple):
    """An event, and the point that it is about."""

    point: Point
    event: Event | Done | Saved | Waits | Began | Retried


class Engine(Protocol):
    """One method is all that another kind of engine needs."""

    @property
    def n_at_once(self) -> int:
        """How many points it trains at a time."""
        ...

    def events(
        self, points: Iterator[Point | None], leaves_off: Callable[[], bool]
    ) -> Iterator[Told]:
        """Train what it draws from `points`, each when there is room for it.

        Of each point the last event is `Done` or `Ended`. None means that there is nothing to draw
        now, but may be later. Where it is to leave off it draws no more, and those that are trained
        are told as `Ended`, their state saved.
        """
        ...
