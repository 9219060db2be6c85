"""What all sessions, and all processes that serve readers here, share of the machine."""

import atexit
import shutil
import tempfile
import time
from functools import lru_cache
from pathlib import Path

from blocks.cost.device_peak import Traffic, measure_bandwidth
from blocks.cost.hardware import Rated
from blocks.efficiency.expected import flops_per_second
from blocks.lessons.rooms import Rooms
from blocks.model import devices
from blocks.work import Queue, Turns
from pages.server import settings
from pages.server.once import once

SPEED_HOLDS = 60  # seconds
READ_BYTES = 64 * 10**6  # more than caches hold


def speed() -> float:
    """FLOPs per second here, measured once a minute: a rerun does not wait for it each time."""
    return _speed(int(time.monotonic() // SPEED_HOLDS))


@once
def rated() -> Rated:
    """What this machine's processor can do, measured once: the table of devices stands still."""
    read = measure_bandwidth(Traffic.READ, READ_BYTES, device="cpu")
    return Rated(devices.memory_of("cpu").total, read.bytes_per_s, flops_per_second())


@lru_cache(maxsize=1)
def _speed(_minute: int) -> float:
    return flops_per_second()


@once
def folder() -> Path:
    """The one folder that is written to; without one that is named, of this process alone."""
    named = settings.data_folder()
    if named:
        Path(named).mkdir(parents=True, exist_ok=True)
        return Path(named)
    own = Path(tempfile.mkdtemp(prefix="blockscope-"))
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    return own


@once
def queue() -> Queue:
    return Queue(folder() / "queue.sqlite")


@once
def turns() -> Turns:
    return Turns(folder())


@once
def rooms() -> Rooms:
    return Rooms(folder() / "rooms.sqlite")
