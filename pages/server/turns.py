"""One run after the other, and in memory no more at once than there is room for.

Under one interpreter several runs at once are all late, and none sooner; and of large models only
so many fit beside each other, whoever asks for them.
"""

import functools
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, ParamSpec, TypeVar

from blocks.model.faults import N_, ConfigError, Fault
from pages.server.once import once
from pages.server.settings import memory_budget
from pages.server.shelf import Shelf, shelves

P = ParamSpec("P")
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
LONGEST, LONGEST_OPENING, PATIENCE = 0.25, 1.0, 0.5
PATIENCE_FOR_ROOM, BETWEEN_LOOKS, MOST_WAITING = 20.0, 0.5, 100
SMALL, FOR_SMALL = 32, 4  # the shares of the memory that a small run has, and all of them together
CROWDED = N_("{n} large models are already waiting for memory: try again in a minute")
NOT_TOGETHER = N_(
    "Other users’ large models are using the memory that these models need together: try "
    "again in a minute"
)


class NotTogetherError(ConfigError):
    """Who holds much already may not wait for more, or two would wait for each other."""

    def __init__(self, n_bytes: int):
        super().__init__([Fault(NOT_TOGETHER)])
        self.n_bytes = n_bytes


class Turn(threading.Condition):
    """One reader's place in the lines, since when, and the bytes that it may take."""

    def __init__(self, lock: threading.Lock, *, can_wait: bool) -> None:
        super().__init__(lock)
        self.can_wait, self.since, self.n_bytes = can_wait, time.monotonic(), 0
        self.looked_at: dict[Shelf[Any, Any], tuple[Any, Any]] = {}


class Line:
    """Who waits. A moved control goes before who opens a page.

    Who has waited for `patience` seconds to open one goes first, and then a moved control again: it
    waits for one of them, however many come at once.
    """

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self._moved, self._opened = deque[Turn](), deque[Turn]()
        self._last_has_opened = False

    def __len__(self) -> int:
        return len(self._moved) + len(self._opened)

    def enter(self, turn: Turn) -> None:
        turn.since = time.monotonic()
        self._of(turn).append(turn)

    def leave(self, turn: Turn) -> None:
        self._of(turn).remove(turn)
        self._last_has_opened = turn.can_wait

    def before(self, turn: Turn) -> int:
        """How many go before this one, as it stands now."""
        return [*self._moved, *self._opened].index(turn)

    def first(self, *, may_open: bool = True) -> Turn | None:
        """Whose turn is next; where no other page may be opened now, that of a moved control."""
        if not (self._moved and self._opened):
            return next(iter(self._moved or self._opened), None)
        is_late = time.monotonic() - self._opened[0].since >= self.patience
        opens = may_open and is_late and not self._last_has_opened
        return self._opened[0] if opens else self._moved[0]

    def wake_the_first(self) -> None:
        """Only the first is ever woken: the others would find that they are not."""
        if first := self.first():
            first.notify()

    def _of(self, turn: Turn) -> deque[Turn]:
        return self._opened if turn.can_wait else self._moved


class Share(NamedTuple):
    """The memory of large runs, or of small ones: who has some of it, and who waits for some."""

    most_bytes: Callable[[], int]
    taken: set[Turn]
    line: Line

    def has(self, n_bytes: int) -> bool:
        """Whether so much is left; who is alone may have it in any case."""
        return not self.taken or self.n_bytes + n_bytes <= self.most_bytes()

    @property
    def n_bytes(self) -> int:
        return sum(turn.n_bytes for turn in self.taken)


class Turns:
    """Readers in a line. Who takes longer than `longest` seconds keeps nobody waiting any more.

    Who opens a page keeps others from opening one for `longest_opening` seconds, or sixty who come
    at once would all be at it at the same time, and whoever moves a control would be one of sixty.
    Memory is held until the turn ends, however long that takes: large runs have
    `most_bytes` together, and small ones some more, so that they wait for no large one.
    """

    def __init__(
        self,
        longest: float = LONGEST,
        patience: float = PATIENCE,
        *,
        longest_opening: float = LONGEST_OPENING,
        most_bytes: Callable[[], int] = memory_budget,
        shrink_to: Callable[[int], None] = lambda _n_bytes: None,
    ) -> None:
        self.longest, self.longest_opening = longest, longest_opening
        self._most_bytes, self._shrink_to = most_bytes, shrink_to
        self._lock = threading.Lock()
        self._line = Line(patience)
        self._large = Share(most_bytes, set(), Line(PATIENCE_FOR_ROOM))
        self._small = Share(lambda: most_bytes() // FOR_SMALL, set(), Line(PATIENCE_FOR_ROOM))
        self._holder: Turn | None = None
        self._opens: Turn | None = None
        self._until = self._opens_until = 0.0
        self._mine = threading.local()

    @contextmanager
    def one(self, *, can_wait: bool = False) -> Iterator[None]:
        """Wait until it is this thread's turn; what it draws within its turn is of the same."""
        if self._turn:
            yield
            return
        turn = self._mine.turn = Turn(self._lock, can_wait=can_wait)
        try:
            self._wait(turn)
            yield
        finally:
            self._mine.turn = None
            self._end(turn)

    @property
    def n_waiting(self) -> int:
        return len(self._line)

    @property
    def n_bytes(self) -> int:
        with self._lock:
            return self._large.n_bytes + self._small.n_bytes

    def take(self, need: Callable[[], int], tell: Callable[[int], None]) -> None:
        """Hold as many bytes as are needed until this turn ends; nothing outside of a turn.

        Who waits is told, twice a second, how many are before it; where `tell` raises, it gives up.
        Raises `ConfigError` where too many wait, and `NotTogetherError` where it holds so much
        that it may not wait for more.
        """
        turn, n_bytes = self._turn, need()
        if turn is None or n_bytes <= turn.n_bytes:
            return
        share = self._share_of(n_bytes)
        with self._lock:
            if turn in self._large.taken:
                self._take_more(turn, n_bytes)
                return
            self._let_go(turn)
            if len(share.line) >= MOST_WAITING:
                raise ConfigError([Fault(CROWDED, {"n": len(share.line)})])
            share.line.enter(turn)
        try:
            while not self._taken(turn, need(), share):  # another may have made it meanwhile
                tell(share.line.before(turn))
        finally:
            with self._lock:
                share.line.leave(turn)
                share.line.wake_the_first()
        if share is self._large:
            self._make_room()

    def take_more(self, n_bytes: int) -> bool:
        """Hold so many bytes more, where there is room for them now; whether there is."""
        turn = self._turn
        if turn is None:
            return True
        with self._lock:
            whole = turn.n_bytes + n_bytes
            share = self._share_of(whole)
            held = turn.n_bytes if turn in share.taken else 0
            if share.n_bytes - held + whole > share.most_bytes():
                return False
            self._let_go(turn)
            turn.n_bytes = whole
            share.taken.add(turn)
            return True

    def look_at(self, shelf: Shelf[K, V], key: K, value: V) -> None:
        """Hold what this turn uses of a shelf, the last of each: others may push it out there."""
        if self._turn:
            self._turn.looked_at[shelf] = (key, value)

    @property
    def _turn(self) -> Turn | None:
        return getattr(self._mine, "turn", None)

    def _wait(self, turn: Turn) -> None:
        with self._lock:
            self._line.enter(turn)
            while (is_late := self._first() is not turn) or self._left(turn) > 0:
                turn.wait(None if is_late else self._left(turn))
                if self._first() is not turn:  # another has come, or has lost its patience
                    self._wake_the_first()
            self._line.leave(turn)
            self._holder, self._until = turn, time.monotonic() + self.longest
            if turn.can_wait:
                self._opens, self._opens_until = turn, time.monotonic() + self.longest_opening
            self._wake_the_first()

    def _first(self) -> Turn | None:
        return self._line.first(may_open=self._opens_until <= time.monotonic())

    def _wake_the_first(self) -> None:
        if first := self._first():
            first.notify()

    def _left(self, turn: Turn) -> float:
        """Seconds for which those whose turn it is keep this one waiting."""
        until = max(self._until, self._opens_until) if turn.can_wait else self._until
        return until - time.monotonic()

    def _pass_on(self, turn: Turn) -> None:
        """It keeps nobody waiting any more."""
        if self._holder is turn:
            self._until = 0.0
        if self._opens is turn:
            self._opens_until = 0.0
        self._wake_the_first()

    def _taken(self, turn: Turn, n_bytes: int, share: Share) -> bool:
        """Whether there is room now, or in a moment; then it is taken."""
        with self._lock:
            for seconds in (BETWEEN_LOOKS, 0.0):
                if share.line.first() is turn and share.has(n_bytes):
                    turn.n_bytes = n_bytes
                    share.taken.add(turn)
                    return True
                self._pass_on(turn)
                turn.wait(seconds)
            return False

    def _take_more(self, turn: Turn, n_bytes: int) -> None:
        if self._large.n_bytes - turn.n_bytes + n_bytes > self._most_bytes():
            raise NotTogetherError(n_bytes)
        turn.n_bytes = n_bytes

    def _end(self, turn: Turn) -> None:
        while turn.looked_at:
            shelf, (key, value) = turn.looked_at.popitem()
            shelf.keep(key, value)
            del key, value  # from now on it is the shelf's alone, which makes room for the next
        with self._lock:
            self._pass_on(turn)
            self._let_go(turn)
        self._make_room()

    def _let_go(self, turn: Turn) -> None:
        for share in (self._large, self._small):
            if turn in share.taken:
                share.taken.remove(turn)
                share.line.wake_the_first()
        turn.n_bytes = 0

    def _make_room(self) -> None:
        """What is kept has the memory that no large run may take."""
        with self._lock:
            left = self._most_bytes() - self._large.n_bytes
        self._shrink_to(max(0, left))

    def _share_of(self, n_bytes: int) -> Share:
        return self._large if n_bytes > self._most_bytes() // SMALL else self._small


@once
def turns() -> Turns:
    return Turns(shrink_to=lambda n_bytes: shelves().shrink_to(n_bytes))


def one_at_a_time(draw: Callable[P, None], *, can_wait: bool = False) -> Callable[P, None]:
    """A page, or a section that reruns alone, as a run that waits for its turn."""

    @functools.wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> None:
        with turns().one(can_wait=can_wait):
            draw(*args, **kwargs)

    return drawn
