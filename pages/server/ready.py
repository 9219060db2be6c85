"""Ready for a class: what a link shows is made before it comes, and kept in all processes."""

import hashlib
import threading
import time
from collections.abc import Hashable
from contextlib import suppress
from typing import Any

from blocks import ConfigError
from blocks.observe.run import Run
from blocks.work.plain import from_line, to_line
from blocks.work.queue import NOTES_KEPT
from pages.server import cached, machine, room, runs
from pages.server.once import once
from pages.server.settings import counted, memory_budget
from pages.server.shelf import Recent, shelves
from pages.server.turns import turns

HOURS = round(NOTES_KEPT / 3600)
KIND, MOST, EVERY = "class", 8, 5.0


def make_ready() -> int:
    """Keep the newest runs that this reader looks at, here and in the other processes; how many."""
    newest = cached.own_runs()[-MOST:]
    for run in newest:
        _keep(run)
        if not run.weights.startswith(runs.PREFIX):  # what is trained here is nowhere else
            line = to_line(run)
            name = hashlib.sha256(line.encode()).hexdigest()
            machine.queue().note(KIND, name, {"run": line})
    listen()
    return len(newest)


@once
def listen() -> threading.Thread:
    """Once per process: make ready what was asked for in the others."""
    thread = threading.Thread(target=_listen, daemon=True)
    thread.start()
    return thread


@once
def _kept() -> Recent[Hashable, Any]:
    return shelves().weigh(Recent(memory_budget() // 4))


def _listen() -> None:
    while True:
        with suppress(ConfigError):  # the file that says so cannot be read now
            take_up()
        time.sleep(EVERY)


def take_up() -> None:
    """Keep what is asked for now, and let go of everything when its time is over."""
    asked = [*machine.queue().notes(KIND, within=NOTES_KEPT).values()][:MOST]
    if not asked:
        _kept().clear()
    for said in asked:
        with suppress(ValueError, LookupError, OSError):  # of another version, or too large here
            run = from_line(said["run"])
            with turns().one(can_wait=True):
                room.take_for(run)
                _keep(run)


def _keep(run: Run) -> None:
    seen, built = cached.recording(run), cached.model(run)
    weight = counted(seen.kept_bytes + cached.weight_bytes(built), run.device)
    _kept().use(run, (seen, built), lambda _both: weight)
