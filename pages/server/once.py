"""What a process has one of: made by whoever asks first, kept until the process ends.

Streamlit's own caches are no place for it: any browser may ask it to clear those, for all readers.
"""

import functools
import threading
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Once(Generic[T]):
    """A function that is called once in a process, or once for each of its few arguments."""

    def __init__(self, make: Callable[..., T]):
        functools.update_wrapper(self, make)
        self._make = make
        self._lock = threading.RLock()
        self._made: dict[tuple[Hashable, ...], T] = {}

    def __call__(self, *args: Any) -> T:
        """What was made at the first call; while it is made, others wait."""
        with self._lock:
            if args not in self._made:
                self._made[args] = self._make(*args)
            return self._made[args]

    def clear(self) -> None:
        """Forget it, so that tests begin anew."""
        with self._lock:
            self._made.clear()


def once(make: Callable[..., T]) -> Once[T]:
    """Make it once in this process, whatever browsers ask for."""
    return Once(make)
