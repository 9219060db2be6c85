"""One run after the other: under one interpreter several at once are all late, and none sooner."""

import functools
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec

P = ParamSpec("P")
LONGEST, PATIENCE = 0.25, 0.5


class Turn(threading.Condition):
    """One reader's place in the line, and since when."""

    def __init__(self, lock: threading.Lock) -> None:
        super().__init__(lock)
        self.since = time.monotonic()


class Turns:
    """Readers in a line. Who takes longer than `longest` seconds keeps nobody waiting any more.

    Who opens a page can wait: a moved control goes first, but for those that have waited for
    `patience` seconds.
    """

    def __init__(self, longest: float = LONGEST, patience: float = PATIENCE) -> None:
        self.longest, self.patience = longest, patience
        self._lock = threading.Lock()
        self._moved, self._opened = deque[Turn](), deque[Turn]()
        self._holder: Turn | None = None
        self._until = 0.0
        self._mine = threading.local()

    @contextmanager
    def one(self, *, can_wait: bool = False) -> Iterator[None]:
        """Wait until it is this thread's turn; what it draws within its turn is of the same."""
        if getattr(self._mine, "turn", None):
            yield
            return
        self._mine.turn = self._wait(self._opened if can_wait else self._moved)
        try:
            yield
        finally:
            self._end(self._mine.turn)
            self._mine.turn = None

    @property
    def n_waiting(self) -> int:
        """How many stand in the line."""
        return len(self._moved) + len(self._opened)

    def _wait(self, line: deque[Turn]) -> Turn:
        """Only the first of the line is ever woken: the others would find that they are not."""
        turn = Turn(self._lock)
        with self._lock:
            line.append(turn)
            while (is_late := self._first() is not turn) or self._left() > 0:
                turn.wait(None if is_late else self._left())
                if self._first() is not turn:  # another has come, or has lost its patience
                    self._wake_the_first()
            line.popleft()
            self._holder, self._until = turn, time.monotonic() + self.longest
            self._wake_the_first()
        return turn

    def _first(self) -> Turn | None:
        """Whose turn is next."""
        if self._opened and time.monotonic() - self._opened[0].since >= self.patience:
            return self._opened[0]
        return next(iter(self._moved or self._opened), None)

    def _left(self) -> float:
        """Seconds for which the one whose turn it is keeps the others waiting."""
        return self._until - time.monotonic()

    def _end(self, turn: Turn) -> None:
        with self._lock:
            if self._holder is turn:
                self._until = 0.0
                self._wake_the_first()

    def _wake_the_first(self) -> None:
        if first := self._first():
            first.notify()


@functools.lru_cache(maxsize=1)
def turns() -> Turns:
    """The line of this process."""
    return Turns()


def one_at_a_time(draw: Callable[P, None], *, can_wait: bool = False) -> Callable[P, None]:
    """A page, or a section that reruns alone, as a run that waits for its turn."""

    @functools.wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> None:
        with turns().one(can_wait=can_wait):
            draw(*args, **kwargs)

    return drawn
