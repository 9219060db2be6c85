"""A process that trains what it is given on stdin: python -m blocks.training.worker.

A line of stdin is a `Job` or the wish to leave off; a line of stdout is an event. It ends when
stdin does, so that it never outlives whom it works for.
"""

import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import TextIO

import torch

from blocks.model import devices
from blocks.training.event_lines import to_line
from blocks.training.events import Event, Step
from blocks.training.job import LEAVE_OFF, READY, Job, job

SECONDS_BETWEEN_WRITES = 0.05
IDLE_SECONDS = 600.0


@dataclass(frozen=True)
class Asked:
    """A job, and whether it is to leave off."""

    job: Job
    leaves_off: threading.Event = field(default_factory=threading.Event)


def main() -> None:
    """Train one job after the other, until there is none for long."""
    lines = _own_stdout()
    devices.prepare_process()
    jobs: SimpleQueue[Asked] = SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin, jobs), daemon=True).start()
    torch.optim.SGD([torch.zeros(1)])  # the first optimizer loads some 800 modules
    devices.settle_process()
    print(READY, file=lines, flush=True)
    for asked in _each(jobs):
        _tell(job(asked.job, asked.leaves_off.is_set), lines)
        devices.free_memory()


def _own_stdout() -> TextIO:
    """The way out for events alone: what else is printed goes to stderr."""
    lines = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return lines


def _each(jobs: SimpleQueue[Asked]) -> Iterator[Asked]:
    while True:
        try:
            yield jobs.get(timeout=IDLE_SECONDS)
        except Empty:
            return


def _listen(lines: TextIO, jobs: SimpleQueue[Asked]) -> None:
    """Take jobs and wishes; where they end, everything does, in the middle of a step too."""
    newest: Asked | None = None
    for line in lines:
        said = json.loads(line)
        if said != LEAVE_OFF:
            newest = Asked(Job.from_plain(said))
            jobs.put(newest)
        elif newest is not None:
            newest.leaves_off.set()
    if newest is not None:
        shutil.rmtree(newest.job.folder, ignore_errors=True)
    os._exit(0)


def _tell(events: Iterator[Event], lines: TextIO) -> None:
    """Write them, steps that follow each other closely together: each write wakes the reader."""
    written = 0.0
    for event in events:
        lines.write(to_line(event) + "\n")
        if not isinstance(event, Step) or time.monotonic() > written + SECONDS_BETWEEN_WRITES:
            lines.flush()
            written = time.monotonic()


if __name__ == "__main__":
    main()
