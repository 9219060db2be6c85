"""Waiting for what another thread or process does, however long the machine takes."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
PATIENCE = 150.0  # seconds: far more than a busy machine takes, and a test ends after 180


def wait(until: Callable[[], T]) -> T:
    """What it says once that is true; fails where it never is."""
    deadline = time.monotonic() + PATIENCE
    while not (found := until()):
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.002)
    return found
