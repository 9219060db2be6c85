"""Rooms: a class that guesses together, without names.

A room has a short code and a lesson. Of a learner it keeps a random number that means nothing
elsewhere, and a guess for each step. It ends after a day. One SQLite file for all processes that
serve readers, as the queue is one.
"""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from blocks.lessons.answers import Values, numbers_of, written_numbers
from blocks.model.faults import N_, ConfigError, Fault
from blocks.work.shared_file import SharedFile

SIGNS, N_SIGNS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789", 6  # a billion codes; none looks like another
MOST_LEARNERS, MOST_ROOMS, MOST_OF_ONE = 300, 500, 5
ENDS_AFTER, EMPTY_FOR = 24 * 3600.0, 3600.0
LONGEST_LEARNER, LONGEST_LINK = 32, 4_000
TABLES = """
CREATE TABLE IF NOT EXISTS rooms (code TEXT PRIMARY KEY, lesson TEXT, link TEXT, opened REAL);
CREATE TABLE IF NOT EXISTS guesses (
    code TEXT, learner TEXT, step INTEGER, guess TEXT, PRIMARY KEY (code, learner, step)
);
"""
TOO_MANY = N_("{n} rooms are open here, which is the limit: try again tomorrow")
TOO_MANY_OF_ONE = N_("You have opened {n} rooms today, which is the limit: go back to one of them")
NO_ROOM = N_("There is no room {code}, or it has ended: rooms last a day")
FULL = N_("This room is full: {n} learners")


@dataclass(frozen=True)
class Room:
    """What a class has guessed so far, by step: one guess a learner, in no order."""

    code: str
    lesson: str
    n_learners: int
    guesses: Mapping[int, tuple[Values, ...]]

    def of(self, step: int) -> tuple[Values, ...]:
        """The guesses of a step."""
        return self.guesses.get(step, ())


class Rooms:
    """The rooms of a file."""

    def __init__(self, file: Path | None = None, *, clock: Callable[[], float] = time.time):
        self._clock, self._file = clock, SharedFile(file, TABLES)

    def open(self, lesson: str, link: str = "", mine: Sequence[str] = ()) -> str:
        """A new room for a lesson; its code. Raises `ConfigError` where there are too many.

        `link`: what its leader has set, which learners open too; `mine`: rooms that the leader has
        opened before. Where there are too many in all, those that nobody has joined for an hour
        give way.
        """
        with self._file.writing():
            self._forget()
            codes = {code for (code,) in self._file.execute("SELECT code FROM rooms")}
            if (n := len(codes.intersection(mine))) >= MOST_OF_ONE:
                raise ConfigError([Fault(TOO_MANY_OF_ONE, {"n": n})])
            if len(codes) >= MOST_ROOMS and not self._forget_the_empty():
                raise ConfigError([Fault(TOO_MANY, {"n": len(codes)})])
            code = "".join(secrets.choice(SIGNS) for _sign in range(N_SIGNS))
            values = (code, lesson, link[:LONGEST_LINK], self._clock())
            self._file.execute("INSERT INTO rooms VALUES (?, ?, ?, ?)", values)
        return code

    def lesson_of(self, code: str) -> str | None:
        """What a room is about; None where there is no such room, or it has ended."""
        found = "SELECT lesson FROM rooms WHERE code = ? AND opened > ?"
        rows = self._file.rows(found, (code, self._clock() - ENDS_AFTER))
        return str(rows[0][0]) if rows else None

    def link_of(self, code: str) -> str:
        """What the leader of a room had set when it was opened; nothing where it is not known."""
        with suppress(ConfigError):
            for (link,) in self._file.rows("SELECT link FROM rooms WHERE code = ?", (code,)):
                return str(link)
        return ""

    def guess(self, code: str, learner: str, step: int, guess: Values) -> None:
        """Keep a learner's guess; the first one counts. Raises `ConfigError` without a room."""
        if self.lesson_of(code) is None:
            raise ConfigError([Fault(NO_ROOM, {"code": code})])
        with self._file.writing():
            known = "SELECT count(DISTINCT learner) FROM guesses WHERE code = ? AND learner != ?"
            (others,) = self._file.execute(known, (code, learner)).fetchone()
            if others >= MOST_LEARNERS:
                raise ConfigError([Fault(FULL, {"n": MOST_LEARNERS})])
            values = (code, learner[:LONGEST_LEARNER], step, written_numbers(guess))
            self._file.execute("INSERT OR IGNORE INTO guesses VALUES (?, ?, ?, ?)", values)

    def room(self, code: str) -> Room:
        """What a room has guessed so far. Raises `ConfigError` where there is no such room."""
        lesson = self.lesson_of(code)
        if lesson is None:
            raise ConfigError([Fault(NO_ROOM, {"code": code})])
        found = "SELECT learner, step, guess FROM guesses WHERE code = ? ORDER BY step, guess"
        rows = self._file.rows(found, (code,))
        by_step: dict[int, list[Values]] = {}
        for _learner, step, text in rows:
            if (guess := numbers_of(text)) is not None:
                by_step.setdefault(step, []).append(guess)
        n_learners = len({learner for learner, _step, _text in rows})
        return Room(code, lesson, n_learners, {i: tuple(each) for i, each in by_step.items()})

    def has_seat(self, code: str, learner: str) -> bool:
        """Whether this learner has guessed in a room already."""
        found = "SELECT 1 FROM guesses WHERE code = ? AND learner = ?"
        return bool(self._file.rows(found, (code, learner[:LONGEST_LEARNER])))

    def _forget_the_empty(self) -> int:
        """Let go of rooms in which nobody has guessed for an hour; how many there were."""
        empty = "opened <= ? AND code NOT IN (SELECT code FROM guesses)"
        before = (self._clock() - EMPTY_FOR,)
        return self._file.execute(f"DELETE FROM rooms WHERE {empty}", before).rowcount

    def _forget(self) -> None:
        """Let go of what is over."""
        before = (self._clock() - ENDS_AFTER,)
        ended = "SELECT code FROM rooms WHERE opened <= ?"
        self._file.execute(f"DELETE FROM guesses WHERE code IN ({ended})", before)
        self._file.execute("DELETE FROM rooms WHERE opened <= ?", before)
