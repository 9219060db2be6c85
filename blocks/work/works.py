"""Series that are worked on: each once for all who ask, in a process, while somebody follows it."""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from blocks.model.faults import N_, ConfigError, Fault
from blocks.work.job import Found, Refused, Rest, Series
from blocks.work.queue import Lane, Place, Queue, Ticket
from blocks.work.worker_process import Processes

T = TypeVar("T")
Turn = Callable[[Series[Any]], AbstractContextManager[None]]
"""The turn that a step takes which is made in this process."""

MOST_KEPT = 512
SECONDS_UNFOLLOWED = 10.0
SECONDS_BETWEEN_LOOKS = 0.1
logger = logging.getLogger(__name__)


class Progress(NamedTuple, Generic[T]):
    """The results so far, and the place in the queue (0: it is worked on)."""

    found: tuple[T, ...]
    place: Place


class Work(Generic[T]):
    """One series: what is found so far, who follows it, and the thread that hears of more."""

    def __init__(self, series: Series[T]):
        self.series = series
        self.found: list[T] = []
        self.faults: tuple[Fault, ...] = ()
        self.n_wanted = 0
        self.followed: dict[str, float] = {}
        self.ticket: Ticket | None = None
        self.thread: threading.Thread | None = None
        self.changed = threading.Condition()
        self.here: Iterator[object] | None = None
        self.began, self.n_before = 0.0, 0

    @property
    def is_followed(self) -> bool:
        """Whether anybody looked of late."""
        now = time.monotonic()
        return any(now - at <= SECONDS_UNFOLLOWED for at in self.followed.copy().values())

    @property
    def seconds_per_step(self) -> float | None:
        """The pace so far; None before the first step."""
        n_made = len(self.found) - self.n_before
        return (time.monotonic() - self.began) / n_made if self.began and n_made else None

    def tell(self, event: object) -> None:
        """Note what was found, or why there is no more."""
        with self.changed:
            match event:
                case Found(value=value):
                    self.found.append(value)
                case Refused(faults=faults):
                    self.faults = faults
            self.changed.notify_all()


class Works:
    """The registry of series; whoever serves readers holds one.

    With a `folder` (of the turns) each device has a process that works, one series after the other;
    without one, who waits for a step makes it. What nobody follows any more is left off; what it
    found stays, and it goes on from there where it is asked for again.
    """

    def __init__(self, queue: Queue, *, turn: Turn, folder: Path | None = None):
        self._queue, self._turn, self._lock = queue, turn, threading.Lock()
        self._processes = None if folder is None else Processes(folder)
        self._paces: dict[type, float] = {}
        self._works: OrderedDict[Series[Any], Work[Any]] = OrderedDict()

    def found(self, series: Series[T]) -> tuple[T, ...]:
        """The results known already."""
        work = self._works.get(series)
        return () if work is None else tuple(work.found)

    def follow(
        self, series: Series[T], *, first: int, known: int, owner: str, patience: float
    ) -> Progress[T]:
        """The first values as far as they are found: more than the `known`, unless that takes long.

        An owner follows one series at a time. Raises `ConfigError` where the work cannot be done,
        or the queue is full.
        """
        with self._lock:
            work = self._wanted(series, first, owner)
        if self._processes is None:
            self._make_a_step(work, known)
        with work.changed:
            work.changed.wait_for(lambda: len(work.found) > known or work.faults, patience)
        if work.faults and len(work.found) <= known:
            raise ConfigError(self._taken(work))
        ticket = work.ticket
        place = Place(0, None) if ticket is None else self._queue.place(ticket)
        return Progress(tuple(work.found[:first]), place)

    def prepare(self, device: str) -> None:
        """Start the process of a device where there is none: loading it takes seconds."""
        if self._processes is not None:
            with suppress(OSError):  # who follows a series is told
                self._processes.of(device)

    def leave(self, owner: str) -> None:
        """Note that this owner follows nothing any more."""
        with self._lock:
            for work in self._works.values():
                self._left(work, owner)

    def close(self) -> None:
        """End everything; when it returns, nobody asks the queue any more."""
        works = [*self._works.values()]
        for work in works:
            work.followed.clear()
        if self._processes is not None:
            self._processes.close()
        for work in works:
            if work.thread is not None:
                work.thread.join(SECONDS_UNFOLLOWED)

    def _wanted(self, series: Series[T], first: int, owner: str) -> Work[T]:
        """The work on a series, begun where it is not worked on."""
        for other in self._works.values():
            if owner in other.followed and other.series != series:
                self._left(other, owner)
        work: Work[T] = self._works.setdefault(series, Work(series))
        self._works.move_to_end(series)
        work.followed[owner] = time.monotonic()
        work.n_wanted = max(work.n_wanted, first)
        if self._processes is not None and work.ticket is None and len(work.found) < first:
            self._begin(work, owner)
        self._forget_oldest()
        return work

    def _left(self, work: Work[Any], owner: str) -> None:
        work.followed.pop(owner, None)
        if not work.is_followed:
            work.here, ticket = None, work.ticket
            if ticket is not None and self._queue.place(ticket).position > 0:
                self._queue.leave(ticket)

    def _taken(self, work: Work[Any]) -> tuple[Fault, ...]:
        """Its faults, said once: whoever asks again tries again."""
        faults, work.faults = work.faults, ()
        return faults

    def _forget_oldest(self) -> None:
        idle = [each for each, work in self._works.items() if work.ticket is None]
        for series in idle[: max(0, len(self._works) - MOST_KEPT)]:
            del self._works[series]

    def _make_a_step(self, work: Work[Any], known: int) -> None:
        """Here and now, where nobody else has made it meanwhile."""
        with work.changed:
            if len(work.found) > known:
                return
            if work.here is None:
                rest = Rest(work.series, tuple(work.found), work.series.n_steps)
                work.here = rest.events(lambda: False)
            with self._turn(work.series):
                event = next(work.here)
            if isinstance(event, Refused) or len(work.found) + 1 == work.series.n_steps:
                work.here = None
            work.tell(event)

    def _begin(self, work: Work[Any], owner: str) -> None:
        lane = Lane("series", work.series.device)
        work.ticket = self._queue.enter(
            lane, owner=owner, seconds_left=lambda: self._seconds_left(work)
        )
        work.thread = threading.Thread(target=self._work, args=(work, work.ticket), daemon=True)
        work.thread.start()

    def _seconds_left(self, work: Work[Any]) -> float | None:
        """At its own pace, or that of the last of its kind; None where neither is known."""
        pace = work.seconds_per_step or self._paces.get(type(work.series))
        return None if pace is None else pace * max(0, work.n_wanted - len(work.found))

    def _work(self, work: Work[Any], ticket: Ticket) -> None:
        """Wait for the turn of a series, and hear what is found, as long as somebody follows."""
        try:
            while work.is_followed:
                if self._queue.place(ticket).position == 0:
                    self._hear(work)
                    return
                time.sleep(SECONDS_BETWEEN_LOOKS)
        except Exception as error:
            logger.exception("work failed")
            text = N_("This computation failed ({error}): try other settings, and please report it")
            work.tell(Refused((Fault(text, {"error": f"{type(error).__name__}: {error}"}),)))
        finally:
            self._queue.leave(ticket)
            if pace := work.seconds_per_step:
                self._paces[type(work.series)] = pace
            with work.changed:
                work.ticket = None
                work.changed.notify_all()

    def _hear(self, work: Work[Any]) -> None:
        assert self._processes is not None
        try:
            process = self._processes.of(work.series.device)
            process.wait_until_ready()
        except OSError as error:
            logger.warning("working in this process: %s", error)
            while work.is_followed and len(work.found) < work.n_wanted and not work.faults:
                self._make_a_step(work, len(work.found))
            return
        work.began, work.n_before = time.monotonic(), len(work.found)
        process.begin(Rest(work.series, tuple(work.found), work.n_wanted))
        is_followed = True
        for event in process.events():
            work.tell(event)
            if is_followed and not work.is_followed:
                is_followed = False
                process.leave_off()
        if not process.is_alive:
            text = N_("The process running this computation ended ({how}): try again")
            work.tell(Refused((Fault(text, {"how": process.how_it_ended()}),)))
