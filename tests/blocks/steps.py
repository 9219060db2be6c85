"""How long a piece of work is, on any machine: the lines of Python that it runs."""

import sys
from collections.abc import Callable
from types import FrameType


def steps(work: Callable[[], object]) -> int:
    """Lines run by `work` in this thread; what C does is not counted."""
    n_lines, before = 0, sys.gettrace()

    def count(_frame: FrameType, event: str, _of: object) -> Callable:
        nonlocal n_lines
        n_lines += event == "line"
        return count

    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return n_lines
