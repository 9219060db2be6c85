"""A process that does what it is given on stdin: python -m blocks.work.worker FOLDER.

A line of stdin is a job or the wish to leave off; a line of stdout is an event, or says that the
job is over. The process ends when stdin does, so that it never outlives whom it works for, and
gives way to those who serve pages. FOLDER is where turns on the devices are kept.
"""

import os
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TextIO

import torch

from blocks.model import devices
from blocks.work.job import Job
from blocks.work.plain import from_line, to_line
from blocks.work.turns import Turns

READY, LEAVE_OFF, OVER = "ready", "leave off", "over"  # what is said besides jobs and events
SECONDS_BETWEEN_WRITES = 0.05
IDLE_SECONDS = 600.0
NICE = 10
"""Pages come first: of a core that both want, a process so nice gets about a tenth (Linux)."""


@dataclass(frozen=True)
class Asked:
    """A job, and whether it is to leave off."""

    job: Job
    leaves_off: threading.Event = field(default_factory=threading.Event)


def main(folder: Path) -> None:
    """Do one job after the other, until there is none for long."""
    lines = _own_stdout()
    devices.prepare_process()
    jobs: SimpleQueue[Asked] = SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin, jobs), daemon=True).start()
    torch.optim.SGD([torch.zeros(1)])  # the first optimizer loads some 800 modules
    devices.settle_process()
    print(READY, file=lines, flush=True)
    give_way(os.getpid(), os.getppid())  # only now: who has asked for it waits until it is ready
    turns = Turns(folder)
    for asked in _each(jobs):
        _tell(in_turn(asked.job, asked.job.events(asked.leaves_off.is_set), turns), lines)
        devices.free_memory()


def give_way(worker: int, served: int) -> None:
    """Let the process of one id come after the other, as far as the system lets us."""
    if hasattr(os, "setpriority"):
        before = os.getpriority(os.PRIO_PROCESS, served)
        os.setpriority(os.PRIO_PROCESS, worker, before + NICE)


def in_turn(job: Job, events: Iterator[object], turns: Turns) -> Iterator[object]:
    """The events of a job, each made in a turn on its device: alone where time is measured."""
    turn = turns.alone if job.is_timed else turns.beside_others
    while True:
        with turn(job.device):
            event = next(events, OVER)
        if event is OVER:
            return
        yield event


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
        said = from_line(line)
        if said != LEAVE_OFF:
            newest = Asked(said)
            jobs.put(newest)
        elif newest is not None:
            newest.leaves_off.set()
    if newest is not None:
        newest.job.abandon()
    os._exit(0)


def _tell(events: Iterator[object], lines: TextIO) -> None:
    """Write them, those that follow each other closely together: each write wakes the reader."""
    written = 0.0
    for event in events:
        lines.write(to_line(event) + "\n")
        if time.monotonic() > written + SECONDS_BETWEEN_WRITES:
            lines.flush()
            written = time.monotonic()
    lines.write(to_line(OVER) + "\n")
    lines.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
