"""What is large and shared: made once for all readers, kept while there is room for it."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, NamedTuple, TypeVar
from weakref import WeakSet, WeakValueDictionary

from pages.server.once import once
from pages.server.settings import memory_budget

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Use(NamedTuple):
    """How a shelf has served since it was set up."""

    n_kept: int
    n_bytes: int
    n_asked: int
    n_made: int

    @property
    def hit_rate(self) -> float:
        return 1 - self.n_made / self.n_asked if self.n_asked else 0.0


class Recent(Generic[K, V]):
    """References to the values used last: `n_at_least`, up to `n_at_most` within so many bytes."""

    def __init__(self, most_bytes: int, *, n_at_least: int = 0, n_at_most: float = math.inf):
        self.most_bytes, self.n_bytes = most_bytes, 0
        self.n_at_least, self.n_at_most = n_at_least, n_at_most
        self._lock = threading.Lock()
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def use(self, key: K, value: V, bytes_of: Callable[[V], int]) -> None:
        """Keep a value as the newest, and let go of the oldest where there is no room for them."""
        with self._lock:
            if key in self._kept and self._kept[key][0] is value:
                self._kept.move_to_end(key)
                return
            self._drop(key)
            n_bytes = bytes_of(value)
            self._kept[key] = value, n_bytes
            self.n_bytes += n_bytes
            while self._is_full and len(self) > self.n_at_least:
                self._drop(next(iter(self._kept)))

    def find(self, key: K) -> V | None:
        """The value where it is kept."""
        with self._lock:
            return self._kept[key][0] if key in self._kept else None

    def weight(self, key: K) -> int | None:
        """The bytes of a value that is kept, as it was weighed."""
        with self._lock:
            return self._kept[key][1] if key in self._kept else None

    @property
    def keys(self) -> tuple[K, ...]:
        """Of what is kept, the newest last."""
        with self._lock:
            return tuple(self._kept)

    def clear(self) -> None:
        """Let go of everything."""
        with self._lock:
            self._kept.clear()
            self.n_bytes = 0

    def drop_oldest(self) -> bool:
        """Let go of the value that was used longest ago; False where there is none."""
        with self._lock:
            oldest = next(iter(self._kept), None)
            if oldest is not None:
                self._drop(oldest)
            return oldest is not None

    @property
    def _is_full(self) -> bool:
        return self.n_bytes > self.most_bytes or len(self) > self.n_at_most

    def _drop(self, key: K) -> None:
        _value, n_bytes = self._kept.pop(key, (None, 0))
        self.n_bytes -= n_bytes


class Shelf(Generic[K, V]):
    """Values that all sessions share, each made once, by whoever asks first; the others wait.

    A value is found as long as anybody holds it: the shelf, which has room for `most_bytes`, for
    `n_at_most` values and for the newest in any case, or a session. So what a reader looks at is
    not made anew because others came by.
    """

    def __init__(
        self,
        make: Callable[[K], V],
        bytes_of: Callable[[V], int],
        most_bytes: int,
        n_at_most: float = math.inf,
        among: Shelves | None = None,
    ):
        self._make, self._bytes_of = make, bytes_of
        self._recent = Recent[K, V](most_bytes, n_at_least=1, n_at_most=n_at_most)
        if among is not None:
            among.weigh(self._recent)
        self._held: WeakValueDictionary[K, V] = WeakValueDictionary()
        self._makers: WeakValueDictionary[K, threading.Lock] = WeakValueDictionary()
        self._lock = threading.Lock()
        self._n_asked = self._n_made = 0

    def get(self, key: K) -> V:
        """The value of this key; where it cannot be made, whoever asks next tries again."""
        with self._lock:
            self._n_asked += 1
            maker = self._makers.setdefault(key, threading.Lock())
        found = self.find(key)
        if found is None:
            with maker:
                found = self.find(key)
                if found is None:
                    found = self._made(key)
        self._recent.use(key, found, self._bytes_of)
        return found

    def keep(self, key: K, value: V) -> None:
        """Put a value back that was pushed out while somebody looked at it."""
        self._recent.use(key, value, self._bytes_of)

    def weight(self, key: K, value: V) -> int:
        """The bytes of a value; to go through a large model takes long, so of what is kept once."""
        known = self._recent.weight(key)
        return self._bytes_of(value) if known is None else known

    def find(self, key: K) -> V | None:
        return self._held.get(key)

    def clear(self) -> None:
        self._recent.clear()
        self._held.clear()

    @property
    def use(self) -> Use:
        return Use(len(self._recent), self._recent.n_bytes, self._n_asked, self._n_made)

    def _made(self, key: K) -> V:
        value = self._make(key)
        with self._lock:
            self._n_made += 1
            self._held[key] = value
        return value


class Shelves:
    """All that is kept for readers in this process, weighed together."""

    def __init__(self) -> None:
        self._lock, self._all = threading.Lock(), WeakSet[Recent[Any, Any]]()

    def weigh(self, kept: Recent[K, V]) -> Recent[K, V]:
        """From now on this one is of them, as long as there is it."""
        with self._lock:
            self._all.add(kept)
        return kept

    @property
    def n_bytes(self) -> int:
        """Of everything; what two of them keep counts twice."""
        return sum(each.n_bytes for each in self._each())

    def shrink_to(self, most_bytes: int) -> None:
        """Whoever keeps most lets go of what is oldest there, until no more than this is left."""
        while self.n_bytes > most_bytes:
            if not max(self._each(), key=lambda each: each.n_bytes).drop_oldest():
                return

    def _each(self) -> list[Recent[Any, Any]]:
        with self._lock:
            return [*self._all]


@once
def shelves() -> Shelves:
    return Shelves()


def weighed(
    make: Callable[[K], V], bytes_of: Callable[[V], int], share: int, n_at_most: float = math.inf
) -> Shelf[K, V]:
    """A shelf with room for one `share`-th of the memory of this process, weighed with all."""
    return Shelf(make, bytes_of, memory_budget() // share, n_at_most, shelves())
