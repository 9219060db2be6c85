"""Trainings that go on in another process, so that they take no time of this one's threads."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import torch

import blocks
from blocks.model.faults import N_, Fault
from blocks.training.checkpoint import Checkpoint, save
from blocks.training.event_lines import from_line
from blocks.training.events import Ended, Event, Reason, SnapshotTaken
from blocks.training.job import LEAVE_OFF, READY, Job
from blocks.training.snapshots import Snapshots
from blocks.training.spec import TrainingSpec

ROOT = Path(blocks.__file__).parent.parent
WORKER = "blocks.training.worker"


class WorkerProcess:
    """A process that does one job after the other. Raises `OSError` where none can be started."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", WORKER],
            cwd=ROOT,
            env=os.environ | {"OMP_NUM_THREADS": str(torch.get_num_threads())},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,  # Ctrl-C is for the server, whose end ends this one too
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._asks, self._tells = self._process.stdin, self._process.stdout
        self._is_ready, self._lock = False, threading.Lock()

    @property
    def pid(self) -> int:
        """Its number."""
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
        self._say(job.plain())

    def events(self) -> Iterator[Event]:
        """What it tells of its job, to `Ended` or its own end; who stops listening ends it."""
        is_over = False
        try:
            for line in self._tells:
                if line.endswith("\n"):  # else it died while it wrote
                    event = from_line(line)
                    is_over = isinstance(event, Ended)
                    yield event
                if is_over:
                    return
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
            self._asks.write(json.dumps(said) + "\n")
            self._asks.flush()


class RemoteTraining:
    """A training in a worker process. Raises `OSError` where it cannot be started there."""

    def __init__(
        self,
        process: WorkerProcess,
        spec: TrainingSpec,
        *,
        start: Checkpoint | None,
        snapshots: Snapshots,
    ):
        process.wait_until_ready()
        self._process, self._snapshots, self._is_stopping = process, snapshots, False
        folder = Path(tempfile.mkdtemp(prefix="blockscope-"))
        self._job, self._checkpoint = Job(spec, folder, resumes=start is not None), start

    def events(self) -> Iterator[Event]:
        """Train until the last step, a stop, an error or the end of the process."""
        try:
            yield from self._events()
        finally:
            shutil.rmtree(self._job.folder, ignore_errors=True)

    def _events(self) -> Iterator[Event]:
        if self._checkpoint is not None:
            save(self._checkpoint, self._job.checkpoint_folder)
        self._process.begin(self._job)
        if self._is_stopping:
            self._process.leave_off()
        for event in self._process.events():
            if isinstance(event, SnapshotTaken):
                self._snapshots.keep(event.step, self._job.taken(event.step))
            if isinstance(event, Ended):
                self._checkpoint = self._job.checkpoint()
                yield event
                return
            yield event
        self._checkpoint = self._job.checkpoint()
        yield Ended(Reason.LOST, lost_fault(self._process.how_it_ended(), self._checkpoint))

    def stop(self) -> None:
        """Ask for the end after the current step."""
        self._is_stopping = True
        self._process.leave_off()

    def checkpoint(self) -> Checkpoint | None:
        """Where it left off, or the newest before its process ended; None where there is none."""
        return self._checkpoint


def lost_fault(how: str, checkpoint: Checkpoint | None) -> Fault:
    """What to say of a training whose process ended."""
    if checkpoint is None:
        text = N_("The training process ended ({how}): start again, or try a smaller model")
        return Fault(text, {"how": how})
    text = N_("The training process ended ({how}). Resume continues from step {step}")
    return Fault(text, {"how": how, "step": checkpoint.step})
