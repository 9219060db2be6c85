"""Who may compute on a device now: many beside each other, or one alone.

The locks are the kernel's, on files that all processes of one server share (Linux, macOS: flock),
so that who dies lets go. Elsewhere nobody waits.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

AFTER_YOU = 0.005  # seconds in which those who waited for one that was alone go first


class Turns:
    """The turns of all devices, kept in a folder."""

    def __init__(self, folder: Path):
        """The folder is there already, and all whose turns these are name the same."""
        self._folder = folder

    @contextmanager
    def alone(self, device: str) -> Iterator[None]:
        """Nobody else computes there meanwhile: for what is timed. Less than a second, please."""
        with self._locked(f"{device}-next"), self._locked(device):
            yield
        time.sleep(AFTER_YOU)

    @contextmanager
    def beside_others(self, device: str) -> Iterator[None]:
        """Others may compute there too; not within itself, since who wants to be alone is next."""
        with self._locked(f"{device}-next", is_shared=True):
            pass
        with self._locked(device, is_shared=True):
            yield

    @contextmanager
    def _locked(self, name: str, *, is_shared: bool = False) -> Iterator[None]:
        if fcntl is None:
            yield
            return
        file = os.open(self._folder / f"turn-{name}", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX)
            yield
        finally:
            os.close(file)  # which lets go of it
