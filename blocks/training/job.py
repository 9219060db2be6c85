"""A training as a job for another process: plain data in, events out, weights as files."""

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from safetensors import torch as safetensors
from torch import Tensor, nn

from blocks.model.faults import ConfigError
from blocks.training.checkpoint import Checkpoint, load, save
from blocks.training.events import Ended, Evaluation, Event, Reason
from blocks.training.failures import guarded
from blocks.training.loop import Training
from blocks.training.spec import TrainingSpec
from blocks.weights.tensors import are_finite, read_weights

SHARE_OF_SAVING = 0.05


@dataclass(frozen=True)
class TrainingJob:
    """What is trained, and the folder for its weights.

    Where `resumes`, it goes on with the checkpoint in the folder. A job that left off, or whose
    process died, has its newest checkpoint there.
    """

    spec: TrainingSpec
    folder: Path
    resumes: bool = False

    is_timed: ClassVar[bool] = False

    @property
    def device(self) -> str:
        """The device that it trains on."""
        return self.spec.device

    def events(self, leaves_off: Callable[[], bool]) -> Iterator[Event]:
        """Train until the end, or until it is to leave off; a checkpoint then and on the way."""
        return guarded(lambda: _events(self, leaves_off))

    def abandon(self) -> None:
        """Delete its files."""
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def checkpoint_folder(self) -> Path:
        """The folder of its checkpoint."""
        return self.folder / "checkpoint"

    def checkpoint(self) -> Checkpoint | None:
        """The newest one; None where there is none that can be read."""
        try:
            return load(self.checkpoint_folder)
        except ConfigError:
            return None

    def take(self, step: int, model: nn.Module) -> bool:
        """Write the weights of now, unless one is no number."""
        weights = read_weights(model)
        if not are_finite(weights):
            return False
        self._snapshot_file(step).write_bytes(safetensors.save(weights))
        return True

    def taken(self, step: int) -> dict[str, Tensor]:
        """Weights that `take` has written; the file goes."""
        file = self._snapshot_file(step)
        weights = safetensors.load(file.read_bytes())
        file.unlink()
        return weights

    def _snapshot_file(self, step: int) -> Path:
        return self.folder / f"{step}.safetensors"


def _events(asked: TrainingJob, leaves_off: Callable[[], bool]) -> Iterator[Event]:
    start = load(asked.checkpoint_folder) if asked.resumes else None
    training = Training(asked.spec, start=start, snapshots=asked)
    saving = _Saving(asked.checkpoint_folder)
    if leaves_off():
        training.stop()
    for event in training.events():
        if isinstance(event, Evaluation) and training.last_good is not None:
            saving.save_if_cheap(training.last_good)
        if isinstance(event, Ended) and event.reason is Reason.STOPPED:
            save(training.checkpoint(), asked.checkpoint_folder)
        yield event
        if leaves_off():
            training.stop()


class _Saving:
    """Checkpoints as often as they cost little of the time."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._due = 0.0

    def save_if_cheap(self, checkpoint: Checkpoint) -> None:
        """Save it unless the last one is too near."""
        began = time.monotonic()
        if began >= self._due:
            save(checkpoint, self._folder)
            ended = time.monotonic()
            self._due = ended + (ended - began) / SHARE_OF_SAVING
