"""Rooms: a class that guesses together, without names.

A room has a short code and a lesson. Of a learner it keeps a random number that means nothing
elsewhere, and a guess for each step; of who leads it, the step that is open and the answers that
are shown. It ends after a day. One SQLite file for all processes that serve readers, as the queue
is one.
"""

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from blocks.lessons.answers import Values, numbers_of, written_numbers
from blocks.model.faults import N_, ConfigError, Fault
from blocks.work.shared_file import SharedFile

SIGNS, N_SIGNS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789", 6  # a billion codes; none looks like another
MOST_LEARNERS, MOST_ROOMS, MOST_OF_ONE = 300, 500, 5
ENDS_AFTER, EMPTY_FOR, PASS_HOLDS = 24 * 3600.0, 3600.0, 600.0  # seconds
LONGEST_LEARNER, LONGEST_LINK = 32, 4_000
TABLES = """
CREATE TABLE IF NOT EXISTS rooms (code TEXT PRIMARY KEY, lesson TEXT, link TEXT, opened REAL);
CREATE TABLE IF NOT EXISTS guesses (
    code TEXT, learner TEXT, step INTEGER, guess TEXT, PRIMARY KEY (code, learner, step)
);
CREATE TABLE IF NOT EXISTS learners (code TEXT, learner TEXT, PRIMARY KEY (code, learner));
CREATE TABLE IF NOT EXISTS leads (code TEXT PRIMARY KEY, leader TEXT, step INTEGER, held INTEGER);
CREATE TABLE IF NOT EXISTS shown (code TEXT, step INTEGER, PRIMARY KEY (code, step));
CREATE TABLE IF NOT EXISTS panels (code TEXT PRIMARY KEY, step INTEGER);
CREATE TABLE IF NOT EXISTS passes (code TEXT PRIMARY KEY, pass TEXT, given REAL);
"""
OF_A_ROOM = ("learners", "guesses", "leads", "shown", "panels", "passes")  # what goes with it
TOO_MANY = N_("{n} rooms are open here, which is the limit: try again tomorrow")
TOO_MANY_OF_ONE = N_("You have opened {n} rooms today, which is the limit: go back to one of them")
NO_ROOM = N_("There is no room {code}, or it has ended: rooms last a day")
FULL = N_("This room is full: {n} learners")


@dataclass(frozen=True)
class Room:
    """How many have joined, and their guesses by step: one a learner, in no order."""

    code: str
    lesson: str
    n_learners: int
    guesses: Mapping[int, tuple[Values, ...]]

    def of(self, step: int) -> tuple[Values, ...]:
        """The guesses of a step."""
        return self.guesses.get(step, ())


@dataclass(frozen=True)
class Lead:
    """Where the one who leads a room is: the step, and those whose answers are shown.

    `is_held`: learners wait for them. `panel`: the step whose panel is presented, not its text.
    """

    lesson: str
    step: int
    is_held: bool
    shown: frozenset[int]
    panel: int | None = None

    def holds(self, step: int) -> bool:
        """Whether learners wait for the answer of a step."""
        return self.is_held and step not in self.shown


class Rooms:
    """The rooms of a file."""

    def __init__(self, file: Path | None = None, *, clock: Callable[[], float] = time.time):
        self._clock, self._file = clock, SharedFile(file, TABLES)

    def open(
        self, lesson: str, link: str = "", mine: Sequence[str] = (), *, leader: str = ""
    ) -> str:
        """A new room for a lesson; its code. Raises `ConfigError` where there are too many.

        `link`: what its leader has set, which learners open too; `mine`: rooms that the leader has
        opened before; `leader`: a word that only the leader knows, without which nobody leads.
        Where there are too many in all, those that nobody has joined for an hour give way.
        """
        with self._file.writing():
            self._forget_where("opened <= ?", self._clock() - ENDS_AFTER)
            codes = {code for (code,) in self._file.execute("SELECT code FROM rooms")}
            if (n := len(codes.intersection(mine))) >= MOST_OF_ONE:
                raise ConfigError([Fault(TOO_MANY_OF_ONE, {"n": n})])
            if len(codes) >= MOST_ROOMS and not self._forget_the_empty():
                raise ConfigError([Fault(TOO_MANY, {"n": len(codes)})])
            code = "".join(secrets.choice(SIGNS) for _sign in range(N_SIGNS))
            values = (code, lesson, link[:LONGEST_LINK], self._clock())
            self._file.execute("INSERT INTO rooms VALUES (?, ?, ?, ?)", values)
            if leader:
                self._file.execute("INSERT INTO leads VALUES (?, ?, 0, 1)", (code, leader))
        return code

    def relink(self, code: str, leader: str, link: str) -> None:
        """The leader has set something else since the room was opened."""
        with self._led(code, leader) as is_led:
            if is_led:
                values = (link[:LONGEST_LINK], code)
                self._file.execute("UPDATE rooms SET link = ? WHERE code = ?", values)

    def is_led_by(self, code: str, leader: str) -> bool:
        """Whether this word is that of the leader."""
        found = "SELECT 1 FROM leads WHERE code = ? AND leader = ?"
        return bool(self._file.rows(found, (code, leader)))

    def pass_for(self, code: str, leader: str) -> str:
        """A word by which one more device may lead, once and within ten minutes; '' to others.

        A room has one at a time: a new one takes the place of the one before.
        """
        new = secrets.token_hex(12)
        with self._led(code, leader) as is_led:
            if is_led:
                values = (code, new, self._clock())
                self._file.execute("INSERT OR REPLACE INTO passes VALUES (?, ?, ?)", values)
        return new if is_led else ""

    def taken(self, code: str, word: str) -> str:
        """The word of the leader for who brings a pass, which is spent then; '' for any other."""
        found = "DELETE FROM passes WHERE code = ? AND pass = ? AND given > ?"
        with self._file.writing():
            values = (code, word, self._clock() - PASS_HOLDS)
            if not self._file.execute(found, values).rowcount:
                return ""
            rows = self._file.execute("SELECT leader FROM leads WHERE code = ?", (code,))
            return str(rows.fetchone()[0])

    def lead(self, code: str) -> Lead | None:
        """Where its leader is; None where there is none, or no such room."""
        found = "SELECT lesson, step, held FROM rooms JOIN leads USING (code) WHERE code = ?"
        rows = self._file.rows(f"{found} AND opened > ?", (code, self._clock() - ENDS_AFTER))
        if not rows:
            return None
        (lesson, step, held) = rows[0]
        shown = self._file.rows("SELECT step FROM shown WHERE code = ?", (code,))
        panels = self._file.rows("SELECT step FROM panels WHERE code = ?", (code,))
        panel = next((each for (each,) in panels), None)
        return Lead(str(lesson), step, bool(held), frozenset(each for (each,) in shown), panel)

    def go_to(self, code: str, leader: str, step: int) -> None:
        """The leader opens a step: the answers of those before it wait for nobody."""
        with self._led(code, leader) as is_led:
            if is_led:
                values = (step, code)
                self._file.execute("UPDATE leads SET step = ? WHERE code = ?", values)
                before = ((code, each) for each in range(step))
                self._file.execute_each("INSERT OR IGNORE INTO shown VALUES (?, ?)", before)

    def show(self, code: str, leader: str, step: int) -> None:
        """The leader shows the answer of a step."""
        with self._led(code, leader) as is_led:
            if is_led:
                self._file.execute("INSERT OR IGNORE INTO shown VALUES (?, ?)", (code, step))

    def turn(self, code: str, leader: str, panel: int | None) -> None:
        """The leader presents the panel of a step, or (None) the text of the one that is open."""
        with self._led(code, leader) as is_led:
            if is_led:
                self._file.execute("INSERT OR REPLACE INTO panels VALUES (?, ?)", (code, panel))

    def hold(self, code: str, leader: str, *, is_held: bool) -> None:
        """The leader says whether learners wait for answers."""
        with self._led(code, leader) as is_led:
            if is_led:
                values = (is_held, code)
                self._file.execute("UPDATE leads SET held = ? WHERE code = ?", values)

    @contextmanager
    def _led(self, code: str, leader: str) -> Iterator[bool]:
        """A transaction, and whether it is the leader's."""
        with self._file.writing():
            found = "SELECT 1 FROM leads WHERE code = ? AND leader = ?"
            yield bool(self._file.execute(found, (code, leader)).fetchone())

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

    def join(self, code: str, learner: str) -> None:
        """Give a learner a place. Raises `ConfigError` without a room, or where it is full."""
        with self._joined(code, learner):
            pass

    @contextmanager
    def _joined(self, code: str, learner: str) -> Iterator[None]:
        """A transaction in which this learner has a place."""
        if self.lesson_of(code) is None:
            raise ConfigError([Fault(NO_ROOM, {"code": code})])
        with self._file.writing():
            known = "SELECT count(*) FROM learners WHERE code = ? AND learner != ?"
            place = code, learner[:LONGEST_LEARNER]
            (others,) = self._file.execute(known, place).fetchone()
            if others >= MOST_LEARNERS:
                raise ConfigError([Fault(FULL, {"n": MOST_LEARNERS})])
            self._file.execute("INSERT OR IGNORE INTO learners VALUES (?, ?)", place)
            yield

    def guess(self, code: str, learner: str, step: int, guess: Values) -> None:
        """Keep a learner's guess; the first one counts. Raises `ConfigError` as `join` does."""
        with self._joined(code, learner):
            values = (code, learner[:LONGEST_LEARNER], step, written_numbers(guess))
            self._file.execute("INSERT OR IGNORE INTO guesses VALUES (?, ?, ?, ?)", values)

    def room(self, code: str) -> Room:
        """What a room has guessed so far. Raises `ConfigError` where there is no such room."""
        lesson = self.lesson_of(code)
        if lesson is None:
            raise ConfigError([Fault(NO_ROOM, {"code": code})])
        found = "SELECT step, guess FROM guesses WHERE code = ? ORDER BY step, guess"
        by_step: dict[int, list[Values]] = {}
        for step, text in self._file.rows(found, (code,)):
            if (guess := numbers_of(text)) is not None:
                by_step.setdefault(step, []).append(guess)
        joined = "SELECT count(*) FROM learners WHERE code = ?"
        ((n_learners,),) = self._file.rows(joined, (code,))
        return Room(code, lesson, n_learners, {i: tuple(each) for i, each in by_step.items()})

    def sheet(self, code: str) -> list[tuple[int, int, Values]]:
        """All guesses of a room: the learner, counted from 0 as they came, the step, the guess."""
        found = "SELECT learner, step, guess FROM guesses WHERE code = ? ORDER BY rowid"
        rows = self._file.rows(found, (code,))
        seats = {learner: i for i, learner in enumerate(dict.fromkeys(each[0] for each in rows))}
        read = ((seats[learner], step, numbers_of(text)) for learner, step, text in rows)
        return sorted((i, step, guess) for i, step, guess in read if guess is not None)

    def has_seat(self, code: str, learner: str) -> bool:
        """Whether this learner has joined a room already."""
        found = "SELECT 1 FROM learners WHERE code = ? AND learner = ?"
        return bool(self._file.rows(found, (code, learner[:LONGEST_LEARNER])))

    def _forget_the_empty(self) -> int:
        """Let go of rooms in which nobody has guessed for an hour; how many there were."""
        empty = "opened <= ? AND code NOT IN (SELECT code FROM guesses)"
        return self._forget_where(empty, self._clock() - EMPTY_FOR)

    def _forget_where(self, condition: str, before: float) -> int:
        """Let go of these rooms and what belongs to them; how many there were."""
        ended = f"SELECT code FROM rooms WHERE {condition}"
        for table in OF_A_ROOM:
            self._file.execute(f"DELETE FROM {table} WHERE code IN ({ended})", (before,))
        return self._file.execute(f"DELETE FROM rooms WHERE {condition}", (before,)).rowcount
