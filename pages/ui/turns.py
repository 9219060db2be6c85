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
        self._changed = threading.Condition()
        self._line = deque[object]()
        self._holder: object = None
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

    def _wait(self) -> object:
        turn = object()
        with self._changed:
            self._line.append(turn)
            while self._line[0] is not turn or (left := self._until - time.monotonic()) > 0:
                self._changed.wait(left if self._line[0] is turn else None)
            self._line.popleft()
            self._holder, self._until = turn, time.monotonic() + self.longest
            self._changed.notify_all()
        return turn

    def _end(self, turn: object) -> None:
        with self._changed:
            if self._holder is turn:
                self._until = 0.0
                self._changed.notify_all()


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
