"""A small database in a file that several processes open: part of Python, no server to fail."""

import logging
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from blocks.model.faults import N_, ConfigError, Fault

PATIENCE = 3.0  # seconds for which one waits for another process that writes
ASIDE = ".broken"
BUSY = N_("Another task is using {file} on the server: try again in a moment")
UNUSABLE = N_("The server cannot use {file} ({error}): ask its administrator")
DAMAGED = N_("{file} on the server was damaged and has been created again: try again")
logger = logging.getLogger(__name__)


class SharedFile:
    """The tables of a file; without one, of this process alone.

    After a power cut nobody asks for it any more, so nothing waits for the disk. Where the disk
    is full, the file is locked or has come to harm, whoever asks gets a `ConfigError`; a damaged
    file is set aside.
    """

    def __init__(self, file: Path | None, tables: str):
        self.lock = threading.RLock()
        self._file, self._tables = file, tables
        self._connection: sqlite3.Connection | None = None
        self._opened: int | None = None

    def execute(self, statement: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        """Within `writing`."""
        assert self._connection is not None
        return self._connection.execute(statement, values)

    def execute_each(self, statement: str, values: Iterable[tuple[Any, ...]]) -> None:
        """The statement for each of these values."""
        assert self._connection is not None
        self._connection.executemany(statement, values)

    def close(self) -> None:
        """Let go of the file; who asks again opens it again."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def rows(self, statement: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """What a question finds."""
        with self.lock, self._faults():
            self._open()
            return self.execute(statement, values).fetchall()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction."""
        with self.lock, self._faults():
            self._open()
            self.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.execute("COMMIT")
            except BaseException:
                if self._connection is not None and self._connection.in_transaction:
                    self.execute("ROLLBACK")
                raise

    def _open(self) -> None:
        """The file that is there now: another process may have set aside the one it was."""
        if self._connection is not None and self._opened == self._inode():
            return
        try:
            self._connect()
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
            self._set_aside()
            self._connect()

    def _connect(self) -> None:
        self.close()
        self._connection = found = sqlite3.connect(
            self._file or ":memory:",
            timeout=PATIENCE,
            isolation_level=None,
            check_same_thread=False,
        )
        self._opened = self._inode()
        try:
            found.execute("PRAGMA journal_mode = WAL")
            found.execute("PRAGMA synchronous = OFF")
            found.execute("PRAGMA secure_delete = ON")
            found.executescript(self._tables)
        except sqlite3.Error:
            self.close()
            raise

    def _inode(self) -> int | None:
        with suppress(FileNotFoundError):
            return self._file.stat().st_ino if self._file else None
        return None

    def _set_aside(self) -> None:
        """Begin anew: what stands in it is worth little. Another process may have done it."""
        is_ours = self._opened == self._inode()
        self.close()
        if self._file is None or not is_ours:
            return
        logger.warning("%s is damaged: it is kept as %s%s", self._file, self._file.name, ASIDE)
        for suffix in ("-wal", "-shm"):
            self._file.with_name(self._file.name + suffix).unlink(missing_ok=True)
        self._file.replace(self._file.with_name(self._file.name + ASIDE))

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """What is wrong with the file, as a sentence."""
        said: dict[str, object] = {"file": self._file.name if self._file else ":memory:"}
        try:
            yield
        except sqlite3.OperationalError as error:
            text = BUSY if "locked" in str(error) else UNUSABLE
            raise ConfigError([Fault(text, {**said, "error": error})]) from error
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
            self._set_aside()
            raise ConfigError([Fault(DAMAGED, said)]) from error


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether the file is no database or has wrong pages: errors without a class of their own."""
    return type(error) is sqlite3.DatabaseError
