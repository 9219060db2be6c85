"""One queue for the machine: who waits for long work, in all processes that serve readers.

It is one SQLite file in the folder that they share: part of Python, no server to install and none
that can fail, transactions, and a file that outlives a killed process. Who is first in its lane
works; who leaves, gives up its ticket. Each process says every few seconds that its tickets still
count, so those of a dead one are forgotten by themselves.
"""

import json
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from blocks.model.faults import N_, ConfigError, Fault
from blocks.work.shared_file import SharedFile

Clock = Callable[[], float]
"""Seconds since an hour that all processes agree on."""

BEAT, FORGOTTEN_AFTER = 2.0, 15.0
NOTES_KEPT = 4 * 3600.0
TABLES = """
CREATE TABLE IF NOT EXISTS tickets (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    lane TEXT, device TEXT, owner TEXT, seconds REAL, seen REAL
);
CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, kind TEXT, value TEXT, seen REAL);
"""


IN_LANE = "FROM tickets WHERE lane = ? AND device = ? AND seen > ?"


class Lane(NamedTuple):
    """A place where one works at a time: trainings and shorter work do not wait for each other."""

    name: str
    device: str


class Room(NamedTuple):
    """How many may wait in a lane, and how many of one owner."""

    in_all: int = 20
    of_one: int = 1


class Place(NamedTuple):
    """0 where it is its turn, 1 where it is next, …; seconds until then, None where unknown."""

    position: int
    seconds: float | None


@dataclass(frozen=True, eq=False)
class Ticket:
    """A place in a lane; `seconds_left` is asked how long its work takes yet."""

    id: int
    lane: Lane
    owner: str
    seconds_left: Callable[[], float | None]


class Queue:
    """The queue of a file that several processes open; without one, of this process alone."""

    def __init__(self, file: Path | None = None, *, clock: Clock = time.time):
        self._clock, self._file = clock, SharedFile(file, TABLES)
        self._is_left = threading.Condition(self._file.lock)
        self._tickets: dict[int, Ticket] = {}
        self._beats: threading.Thread | None = None

    def enter(
        self,
        lane: Lane,
        *,
        owner: str = "",
        room: Room | None = None,
        seconds_left: Callable[[], float | None] = lambda: None,
    ) -> Ticket:
        """A place at the end of the lane. Raises `ConfigError` where there is no room to wait.

        Who has no owner counts only in all.
        """
        with self._file.writing():
            dead = (self._clock() - FORGOTTEN_AFTER,)
            self._file.execute("DELETE FROM tickets WHERE seen <= ?", dead)
            if fault := self._fault(lane, owner, room or Room()):
                raise ConfigError([fault])
            values = (*lane, owner, seconds_left(), self._clock())
            into = "INSERT INTO tickets (lane, device, owner, seconds, seen) VALUES (?, ?, ?, ?, ?)"
            found = self._file.execute(into, values).lastrowid
            assert found is not None
            ticket = self._tickets[found] = Ticket(found, lane, owner, seconds_left)
        self._keep_beating()
        return ticket

    def leave(self, ticket: Ticket) -> None:
        """Give up a place; once is enough. What cannot be written is forgotten by itself."""
        with self._file.lock:
            self._tickets.pop(ticket.id, None)
            self._is_left.notify_all()
            with suppress(ConfigError), self._file.writing():
                self._file.execute("DELETE FROM tickets WHERE id = ?", (ticket.id,))

    def place(self, ticket: Ticket) -> Place:
        """Return its place in the queue now; nobody's turn comes while it cannot be read."""
        before = (
            "SELECT id, seconds FROM tickets WHERE lane = ? AND device = ? AND id < ? AND seen > ?"
        )
        values = (*ticket.lane, ticket.id, self._clock() - FORGOTTEN_AFTER)
        try:
            rows = self._file.rows(before, values)
        except ConfigError:
            return Place(1, None)
        ours = self._tickets.copy()
        left = [ours[i].seconds_left() if i in ours else seconds for i, seconds in rows]
        known = [seconds for seconds in left if seconds is not None]
        return Place(len(left), sum(known) if len(known) == len(left) else None)

    def waiting(self, lane: Lane) -> int:
        """How many wait there; nobody, as far as can be told, where it cannot be read."""
        values = (*lane, self._clock() - FORGOTTEN_AFTER)
        with suppress(ConfigError):
            return max(0, len(self._file.rows(f"SELECT 1 {IN_LANE}", values)) - 1)
        return 0

    def lanes(self) -> dict[Lane, int]:
        """How many are in each lane, who works among them."""
        counted = "SELECT lane, device, count(*) FROM tickets WHERE seen > ? GROUP BY lane, device"
        rows = self._file.rows(counted, (self._clock() - FORGOTTEN_AFTER,))
        return {Lane(lane, device): n for lane, device, n in rows}

    def note(self, kind: str, name: str, value: Mapping[str, Any]) -> None:
        """Pin a plain value up for all processes, in the place of the one of this name.

        It is gone after some hours.
        """
        with self._file.writing():
            values = (name, kind, json.dumps(value), self._clock())
            self._file.execute("INSERT OR REPLACE INTO notes VALUES (?, ?, ?, ?)", values)
            old = (self._clock() - NOTES_KEPT,)
            self._file.execute("DELETE FROM notes WHERE seen <= ?", old)

    def notes(self, kind: str, *, within: float) -> dict[str, dict[str, Any]]:
        """The notes of a kind that are not older than so many seconds, the newest first."""
        wanted = "SELECT name, value FROM notes WHERE kind = ? AND seen > ? ORDER BY seen DESC"
        rows = self._file.rows(wanted, (kind, self._clock() - within))
        return {name: json.loads(value) for name, value in rows}

    def beat(self) -> None:
        """Say that the tickets of this process still count, and how long each takes yet."""
        with self._file.writing():
            rows = [
                (each.id, *each.lane, each.owner, each.seconds_left(), self._clock())
                for each in self._tickets.values()
            ]
            again = "INSERT OR REPLACE INTO tickets VALUES (?, ?, ?, ?, ?, ?)"
            self._file.execute_each(again, rows)  # whom others took for dead is back in its place

    def close(self) -> None:
        """Give up everything."""
        with self._file.lock:
            for ticket in [*self._tickets.values()]:
                self.leave(ticket)
            beats = self._beats
        if beats is not None:
            beats.join()
        self._file.close()

    def _fault(self, lane: Lane, owner: str, room: Room) -> Fault | None:
        rows = self._file.rows(f"SELECT owner {IN_LANE} ORDER BY id", (*lane, 0))
        waiting = [each for (each,) in rows[1:]]
        if owner and waiting.count(owner) >= room.of_one:
            text = N_("Your waiting runs: {value} (at most {most} allowed). Wait, or stop one")
            return Fault(text, {"value": waiting.count(owner), "most": room.of_one})
        if len(waiting) >= room.in_all:
            text = N_(
                "{value} runs are already waiting, and at most {most} may wait: try again in a few "
                "minutes"
            )
            return Fault(text, {"value": len(waiting), "most": room.in_all})
        return None

    def _keep_beating(self) -> None:
        with self._file.lock:
            if self._beats is None:
                self._beats = threading.Thread(target=self._beat_on, daemon=True)
                self._beats.start()

    def _beat_on(self) -> None:
        """Until no ticket of this process is left."""
        with self._file.lock:
            while self._tickets:
                self._is_left.wait_for(lambda: not self._tickets, BEAT)
                with suppress(ConfigError):  # locked for long: the next beat says it
                    self.beat()
            self._beats = None
