"""A training in a worker process: the same events, and weights that come back as files."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from blocks.model.faults import N_, Fault
from blocks.training.checkpoint import Checkpoint, save
from blocks.training.events import Ended, Event, Reason, SnapshotTaken
from blocks.training.job import TrainingJob
from blocks.training.snapshots import Snapshots
from blocks.training.spec import TrainingSpec
from blocks.work.worker_process import WorkerProcess


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
        self._job, self._checkpoint = TrainingJob(spec, folder, start is not None), start

    def events(self) -> Iterator[Event]:
        """Train until the last step, a stop, an error or the end of the process."""
        try:
            yield from self._events()
        finally:
            self._job.abandon()

    def _events(self) -> Iterator[Event]:
        if self._checkpoint is not None:
            save(self._checkpoint, self._job.checkpoint_folder)
        self._process.begin(self._job)
        if self._is_stopping:
            self._process.leave_off()
        has_ended = False
        for event in self._process.events():
            assert isinstance(event, Event)
            if isinstance(event, SnapshotTaken):
                self._snapshots.keep(event.step, self._job.taken(event.step))
            if has_ended := isinstance(event, Ended):
                self._checkpoint = self._job.checkpoint()
            yield event
        if has_ended:
            return
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
    text = N_("The training process ended ({how}). Press “Resume” to continue from step {step}")
    return Fault(text, {"how": how, "step": checkpoint.step})
