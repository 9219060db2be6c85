"""Jobs that are done in another process, so that they take no time of this one's threads."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import torch

import blocks
from blocks.work.job import Job
from blocks.work.plain import from_line, to_line
from blocks.work.worker import LEAVE_OFF, OVER, READY, give_way

ROOT = Path(blocks.__file__).parent.parent
WORKER = "blocks.work.worker"


class WorkerProcess:
    """A process that does one job after the other, its turns kept in `folder`.

    One that `gives_way` does so from the start, for work that nobody waits for in front of a page.
    Raises `OSError` where none can be started.
    """

    def __init__(self, folder: Path, *, gives_way: bool = False) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", WORKER, str(folder.resolve())],
            cwd=ROOT,
            env=os.environ | {"OMP_NUM_THREADS": str(torch.get_num_threads())},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,  # Ctrl-C is for the server, whose end ends this one too
        )
        if gives_way:
            give_way(self.pid, os.getpid())
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._asks, self._tells = self._process.stdin, self._process.stdout
        self._is_ready, self._lock = False, threading.Lock()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it can be given a job."""
        return self._process.poll() is None

    def wait_until_ready(self) -> None:
        """Return when it has loaded all that it needs; `OSError` where it ends instead."""
        if not self._is_ready:
            if self._tells.readline().strip() != READY:
                self.close()
                raise OSError(f"{WORKER} does not start: {self.how_it_ended()}")
            self._is_ready = True

    def begin(self, job: Job) -> None:
        """Give it a job; `events` tells of it."""
        self._say(job)

    def events(self) -> Iterator[object]:
        """What it tells of its job, to the job's end or its own; who stops listening ends it."""
        is_over = False
        try:
            for line in self._tells:
                if line.endswith("\n"):  # else it died while it wrote
                    event = from_line(line)
                    if is_over := event == OVER:
                        return
                    yield event
        finally:
            if not is_over:
                self.close()

    def leave_off(self) -> None:
        """Ask it to end its job after the current step."""
        self._say(LEAVE_OFF)

    def close(self) -> None:
        """End it, in the middle of a job too."""
        self._process.kill()
        with self._lock, suppress(OSError), self._process:
            pass  # its pipes are closed, and it is waited for

    def how_it_ended(self) -> str:
        """A signal's name or an exit code."""
        code = self._process.wait()
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"

    def _say(self, said: object) -> None:
        with self._lock, suppress(OSError, ValueError):  # that it has ended, its events tell
            self._asks.write(to_line(said) + "\n")
            self._asks.flush()


class Processes:
    """A process for each device, started when it is asked for, and anew where it has ended."""

    def __init__(self, folder: Path):
        """The folder of their turns."""
        self._folder, self._lock = folder, threading.Lock()
        self._of: dict[str, WorkerProcess] = {}

    def of(self, device: str) -> WorkerProcess:
        """The one of a device. Raises `OSError` where none can be started."""
        with self._lock:
            process = self._of.get(device)
            if process is None or not process.is_alive:
                if process is not None:
                    process.close()
                process = self._of[device] = WorkerProcess(self._folder)
            return process

    def close(self) -> None:
        """End all."""
        with self._lock:
            for process in self._of.values():
                process.close()
            self._of.clear()
