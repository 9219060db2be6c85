"""A small database in a file that several processes open: part of Python, no server to fail."""

import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class SharedFile:
    """The tables of a file; without one, of this process alone.

    After a power cut nobody asks for it any more, so nothing waits for the disk.
    """

    def __init__(self, file: Path | None, tables: str):
        self.lock = threading.RLock()
        self._connection = sqlite3.connect(
            file or ":memory:", timeout=10, isolation_level=None, check_same_thread=False
        )
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = OFF")
        self._connection.execute("PRAGMA secure_delete = ON")
        self._connection.executescript(tables)

    def execute(self, statement: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        """Within `writing`, or where one statement is all."""
        return self._connection.execute(statement, values)

    def execute_each(self, statement: str, values: Iterable[tuple[Any, ...]]) -> None:
        """The statement for each of these values."""
        self._connection.executemany(statement, values)

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def rows(self, statement: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """What a question finds."""
        with self.lock:
            return self.execute(statement, values).fetchall()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction."""
        with self.lock:
            self.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self.execute("ROLLBACK")
                raise
            self.execute("COMMIT")
