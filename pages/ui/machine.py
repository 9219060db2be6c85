"""What all sessions, and all processes that serve readers here, share of the machine."""

import atexit
import shutil
import tempfile
from pathlib import Path

from blocks.lessons.rooms import Rooms
from blocks.work import Queue, Turns
from pages.ui import settings
from pages.ui.once import once


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
    """Who waits for long work."""
    return Queue(folder() / "queue.sqlite")


@once
def turns() -> Turns:
    """Who computes now."""
    return Turns(folder())


@once
def rooms() -> Rooms:
    """The classes that guess together."""
    return Rooms(folder() / "rooms.sqlite")
