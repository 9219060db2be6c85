"""How long a piece of work is, on any machine: the steps that Python takes."""

import sys
from collections.abc import Callable
from types import FrameType


def steps(work: Callable[[], object]) -> int:
    """Instructions of Python run by `work` in this thread; what C does is not counted."""
    n_steps, before = 0, sys.gettrace()

    def count(frame: FrameType, event: str, _of: object) -> Callable:
        nonlocal n_steps
        frame.f_trace_opcodes = True
        n_steps += event == "opcode"
        return count

    sys._getframe().f_trace_opcodes = True  # without it Python 3.12 counts none the first time
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return n_steps
