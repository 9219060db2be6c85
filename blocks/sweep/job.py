"""One point of a sweep as a job for any process: plain data in, events and its outcome out."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import torch

from blocks.model.faults import ConfigError
from blocks.sweep.outcome import Outcome, outcome
from blocks.training.checkpoint import Checkpoint, load, save
from blocks.training.events import Ended, Evaluation, Event, Reason, Step
from blocks.training.failures import guarded
from blocks.training.loop import Training
from blocks.training.spec import TrainingSpec

N_THREADS = 1
"""Of each training: its sums then do not depend on how many cores there are."""

SECONDS_BETWEEN_STEPS = 0.2
TOLD = "told.json"


@dataclass(frozen=True)
class Done:
    """The last event of a point that came to its end."""

    outcome: Outcome


@dataclass(frozen=True)
class Saved:
    """What its folder holds is new."""


@dataclass(frozen=True)
class PointJob:
    """A training that goes on from where its folder says that it was, and leaves that there.

    It is saved at a look, `seconds_between` after the last time, and where it leaves off.
    """

    spec: TrainingSpec
    folder: Path
    seconds_between: float = 30.0
    is_timed: ClassVar[bool] = False

    @property
    def device(self) -> str:
        """The device that it trains on."""
        return self.spec.device

    def events(self, leaves_off: Callable[[], bool]) -> Iterator[Event | Done | Saved]:
        """Some of the steps, all looks, and `Done`; `Ended` alone where it left off or failed."""
        torch.set_num_threads(N_THREADS)
        told = _Told(self.folder)
        for event in guarded(lambda: self._trained(told, leaves_off)):
            if isinstance(event, Ended) and event.reason in (Reason.FINISHED, Reason.DIVERGED):
                yield Done(told.outcome(self.spec, event.reason))
            else:
                yield event

    def abandon(self) -> None:
        """Do nothing: whoever asks again goes on from here."""

    def _trained(self, told: "_Told", leaves_off: Callable[[], bool]) -> Iterator[Event | Saved]:
        start = told.start()
        training = told.training = Training(self.spec, start=start, is_scored=False)
        saved = heard = time.monotonic()
        if leaves_off():
            training.stop()
        for event in training.events():
            told.note(event)
            now = time.monotonic()
            if isinstance(event, Ended) and event.reason is Reason.STOPPED:
                told.save(training.checkpoint())
            elif isinstance(event, Evaluation) and now >= saved + self.seconds_between:
                assert training.last_good is not None
                told.save(training.last_good)
                saved = time.monotonic()
                yield Saved()
            if not isinstance(event, Step) or now >= heard + SECONDS_BETWEEN_STEPS:
                heard = now
                yield event
            if leaves_off():
                training.stop()


class _Told:
    """What a training has told so far, kept beside its checkpoint."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.losses: list[float] = []
        self.looks: list[Evaluation] = []
        self.training: Training | None = None

    def start(self) -> Checkpoint | None:
        """Where it was, with all that was told until then; None where it begins."""
        try:
            checkpoint = load(self.folder / "checkpoint")
            told = json.loads((self.folder / TOLD).read_text("utf-8"))
            self.losses = told["losses"][: checkpoint.step]
            looks = (Evaluation(**each) for each in told["looks"])
            self.looks = [each for each in looks if each.step <= checkpoint.step]
        except (ConfigError, OSError, ValueError, KeyError, TypeError):
            return None
        return checkpoint if len(self.losses) == checkpoint.step else None

    def note(self, event: Event) -> None:
        """Keep what the event tells."""
        match event:
            case Step(loss=loss):
                self.losses.append(loss)
            case Evaluation():
                self.looks.append(event)

    def save(self, checkpoint: Checkpoint) -> None:
        """Write down where it is; what was told first, which may be more than is needed."""
        self.folder.mkdir(parents=True, exist_ok=True)
        looks = [vars(each) for each in self.looks]
        new = self.folder / f".{TOLD}"
        new.write_text(json.dumps({"losses": self.losses, "looks": looks}), "utf-8")
        new.replace(self.folder / TOLD)
        save(checkpoint, self.folder / "checkpoint")

    def outcome(self, spec: TrainingSpec, reason: Reason) -> Outcome:
        """What it came to."""
        assert self.training is not None
        task, seconds = self.training.task, self.training.seconds
        return outcome(spec, task, reason, self.losses, self.looks, seconds)
