"""One run after the other: under one interpreter several at once are all late, and none sooner."""

import functools
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec

P = ParamSpec("P")
LONGEST = 0.25


class Turns:
    """Readers in a line. Who takes longer than `longest` seconds keeps nobody waiting any more."""

    def __init__(self, longest: float = LONGEST) -> None:
        self.longest = longest
        self._lock = threading.Lock()
        self._line = deque[threading.Condition]()
        self._holder: threading.Condition | None = None
        self._until = 0.0
        self._mine = threading.local()

    @contextmanager
    def one(self) -> Iterator[None]:
        """Wait until it is this thread's turn; what it draws within its turn is of the same."""
        if getattr(self._mine, "turn", None):
            yield
            return
        self._mine.turn = self._wait()
        try:
            yield
        finally:
            self._end(self._mine.turn)
            self._mine.turn = None

    def _wait(self) -> threading.Condition:
        """Only the first of the line is ever woken: the others would find that they are not."""
        turn = threading.Condition(self._lock)
        with self._lock:
            self._line.append(turn)
            while self._line[0] is not turn or (left := self._until - time.monotonic()) > 0:
                turn.wait(left if self._line[0] is turn else None)
            self._line.popleft()
            self._holder, self._until = turn, time.monotonic() + self.longest
            self._wake_the_first()
        return turn

    def _end(self, turn: threading.Condition) -> None:
        with self._lock:
            if self._holder is turn:
                self._until = 0.0
                self._wake_the_first()

    def _wake_the_first(self) -> None:
        if self._line:
            self._line[0].notify()


@functools.lru_cache(maxsize=1)
def turns() -> Turns:
    """The line of this process."""
    return Turns()


def one_at_a_time(draw: Callable[P, None]) -> Callable[P, None]:
    """A page, or a section that reruns alone, as a run that waits for its turn."""

    @functools.wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> None:
        with turns().one():
            draw(*args, **kwargs)

    return drawn
