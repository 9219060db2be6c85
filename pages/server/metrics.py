"""Numbers for whoever serves, where they are wanted: readers, memory, hit rates, slow sections."""

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from streamlit.runtime import Runtime

from blocks.lessons import shelf
from blocks.work.metrics import Metrics, Sample
from pages.server import cached, machine, settings
from pages.server.once import once
from pages.server.shelf import Use

SESSIONS = "active_sessions"
STATM = Path("/proc/self/statm")
"""Pages of memory that this process takes, the second number (Linux)."""


class Seconds:
    """How long each section took to draw: in all, at most, and how often."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n, self._total, self._most = Counter[str](), dict[str, float](), dict[str, float]()

    def note(self, section: str, seconds: float) -> None:
        """It was drawn once more."""
        with self._lock:
            self._n[section] += 1
            self._total[section] = self._total.get(section, 0.0) + seconds
            self._most[section] = max(seconds, self._most.get(section, 0.0))

    def samples(self) -> Iterator[Sample]:
        """Its waiting for long work counts as well."""
        with self._lock:
            for section, n in self._n.items():
                of = {"section": section}
                yield Sample("blockscope_drawn_total", n, of)
                yield Sample("blockscope_drawing_seconds_total", self._total[section], of)
                yield Sample("blockscope_slowest_drawing_seconds", self._most[section], of)


@once
def keep() -> Metrics | None:
    """Once per process: from now on they can be read, where they are wanted."""
    wanted = settings.metrics_address()
    if wanted is None:
        return None
    return Metrics(machine.queue(), wanted, str(os.getpid()), _of_this_process)


@once
def _seconds() -> Seconds:
    return Seconds()


@contextmanager
def timed(draw: Callable[..., None]) -> Iterator[None]:
    """Note how long this section is drawn."""
    began = time.monotonic()
    try:
        yield
    finally:
        name = f"{draw.__module__.removeprefix('pages.').removeprefix('panels.')}.{draw.__name__}"
        _seconds().note(name, time.monotonic() - began)


def _of_this_process() -> Iterator[Sample]:
    yield Sample("blockscope_readers", _readers())
    if STATM.exists():
        pages = int(STATM.read_text().split()[1])
        yield Sample("blockscope_memory_bytes", pages * os.sysconf("SC_PAGE_SIZE"))
    for kind, use in (("recording", cached.recordings().use), ("model", cached.models().use)):
        yield from _of_shelf(kind, use)
    yield from _seconds().samples()
    yield from of_lessons()


def of_lessons() -> Iterator[Sample]:
    """What is wrong with lessons of this server's folder, which are left out because of it."""
    if own := settings.lessons_folder():
        for name, faults in shelf.refused(own).items():
            yield Sample("blockscope_lesson_faults", len(faults), {"file": name})


def _of_shelf(kind: str, use: Use) -> Iterator[Sample]:
    of = {"kind": kind}
    yield Sample("blockscope_kept", use.n_kept, of)
    yield Sample("blockscope_kept_bytes", use.n_bytes, of)
    yield Sample("blockscope_asked_total", use.n_asked, of)
    yield Sample("blockscope_made_total", use.n_made, of)
    yield Sample("blockscope_hit_rate", use.hit_rate, of)


def _readers() -> float:
    """Sessions whose page is open; 0 where no server runs."""
    if not Runtime.exists():
        return 0
    found: Any = Runtime.instance().stats_mgr.get_stats([SESSIONS]).get(SESSIONS, ())
    return sum(each.value for each in found)
