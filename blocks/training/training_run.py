"""One training that many may watch: its state, its log, its snapshots."""

import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import pandas as pd
from torch import Tensor

from blocks.cost.parameters import total_parameters
from blocks.model.faults import Fault
from blocks.training.checkpoint import Checkpoint
from blocks.training.events import Ended, Event, Reason, Sample
from blocks.training.failures import guarded
from blocks.training.limits import Limits, time_fault, unwatched_fault
from blocks.training.log import Log
from blocks.training.snapshots import Snapshots
from blocks.training.spec import TrainingSpec

Clock = Callable[[], float]
"""Seconds that pass, from whenever."""


class Trainer(Protocol):
    """A training that can be left off: in this process, or in another one."""

    def events(self) -> Iterator[Event]:
        """Train until the last step, a stop or an error; the last event is `Ended`."""
        ...

    def stop(self) -> None:
        """Ask for the end after the current step."""
        ...

    def checkpoint(self) -> Checkpoint | None:
        """The checkpoint where it left off; None where that is lost."""
        ...


class Begin(Protocol):
    """Makes the trainer of a spec, or of the rest of it."""

    def __call__(
        self, spec: TrainingSpec, *, start: Checkpoint | None, snapshots: Snapshots
    ) -> Trainer:
        """Where it goes on, and where the weights along the way are kept."""
        ...


class RunState(StrEnum):
    """The state of a training run."""

    QUEUED = "queued"
    RUNNING = "running"
    PAUSED = "paused"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"

    @property
    def has_ended(self) -> bool:
        """Whether nothing will change any more."""
        return self in (RunState.FINISHED, RunState.STOPPED, RunState.FAILED)

    @property
    def is_active(self) -> bool:
        """Whether it has the device or waits for it."""
        return self in (RunState.QUEUED, RunState.RUNNING)


class Wish(StrEnum):
    """What a reader wants of a run that is running."""

    GO_ON = "go_on"
    PAUSE = "pause"
    REQUEUE = "requeue"
    STOP = "stop"


STATE_AFTER_WISH = {
    Wish.GO_ON: RunState.STOPPED,
    Wish.PAUSE: RunState.PAUSED,
    Wish.REQUEUE: RunState.QUEUED,
    Wish.STOP: RunState.STOPPED,
}


@dataclass(frozen=True)
class Status:
    """State and fault, replaced together so that no reader sees one without the other."""

    state: RunState
    fault: Fault | None = None


@dataclass(frozen=True, eq=False)
class RunView:
    """A run as it was at one moment; nothing in it changes any more.

    `curves`, `evaluations`, `layer_gradients` and `ahead`: see `blocks.training.log`. `seconds` on
    the device so far, `seconds_left` (None before the first step) at the pace so far.
    `is_leaving_off`: asked to pause or stop, it makes its last step.
    """

    id: str
    spec: TrainingSpec
    state: RunState
    fault: Fault | None
    step: int
    n_steps: int
    seconds: float
    seconds_left: float | None
    curves: pd.DataFrame
    evaluations: pd.DataFrame
    layer_gradients: pd.DataFrame
    ahead: pd.DataFrame
    samples: tuple[Sample, ...]
    snapshot_steps: tuple[int, ...]
    is_leaving_off: bool = False

    @property
    def progress(self) -> float:
        """Share of the steps that are made: 0 to 1."""
        return self.step / self.n_steps


class TrainingRun:
    """A training with a name. One worker runs it; everybody may look at it without waiting."""

    def __init__(
        self,
        spec: TrainingSpec,
        limits: Limits,
        *,
        owner: str | None = None,
        clock: Clock = time.monotonic,
    ):
        self.id = secrets.token_urlsafe(8)
        self.spec, self.limits, self.owner = spec, limits, owner
        self.status = Status(RunState.QUEUED)
        self.log = Log()
        self.snapshots = Snapshots(limits.max_snapshot_bytes)
        tokens = spec.recipe.batch_size * spec.task.seq_len
        self.work_per_step = total_parameters(spec.config) * tokens
        self._clock, self._seen_at, self._gives_way = clock, clock(), False
        self._wish = Wish.GO_ON
        self._training: Trainer | None = None
        self._paused_at: Checkpoint | None = None

    @property
    def state(self) -> RunState:
        """The state of the run."""
        return self.status.state

    @property
    def step(self) -> int:
        """The newest step that was told."""
        newest = self.log.steps.newest
        return 0 if newest is None else newest.step

    @property
    def seconds(self) -> float:
        """Time on the device until that step."""
        newest = self.log.steps.newest
        return 0.0 if newest is None else newest.seconds

    @property
    def seconds_left(self) -> float | None:
        """At the pace so far; None before the first step, 0 after the end."""
        if self.state.has_ended:
            return 0.0
        newest = self.log.steps.newest
        if newest is None:
            return None
        return newest.seconds / newest.step * (self.spec.recipe.n_steps - newest.step)

    @property
    def seconds_per_work(self) -> float | None:
        """Its pace on its device, in the unit of `work_per_step`; None before the first step."""
        newest = self.log.steps.newest
        return None if newest is None else newest.seconds / (newest.step * self.work_per_step)

    def look(self) -> None:
        """Note that somebody is watching."""
        self._seen_at = self._clock()

    @property
    def is_watched(self) -> bool:
        """Whether somebody looked at it of late."""
        return self._clock() - self._seen_at <= self.limits.max_seconds_unwatched

    def view(self) -> RunView:
        """The run as it is now; who asks for it watches the run."""
        self.look()
        status = self.status
        return RunView(
            id=self.id,
            spec=self.spec,
            state=status.state,
            fault=status.fault,
            step=self.step,
            n_steps=self.spec.recipe.n_steps,
            seconds=self.seconds,
            seconds_left=self.seconds_left,
            curves=self.log.curves(),
            evaluations=self.log.scores(),
            layer_gradients=self.log.layer_gradients(),
            ahead=self.log.ahead(),
            samples=self.log.samples,
            snapshot_steps=self.snapshots.steps,
            is_leaving_off=self.is_pausing or self.is_stopping,
        )

    def weights(self, step: int) -> dict[str, Tensor]:
        """The weights at the kept step nearest to `step`, by name, on the CPU; do not change."""
        return self.snapshots.at(step)[1]

    def ask(self, wish: Wish) -> None:
        """Tell the worker to leave off after the current step, and what to do then."""
        self._wish = wish
        training = self._training
        if training is not None:
            training.stop()

    @property
    def is_pausing(self) -> bool:
        """Whether it was asked to pause and has not yet."""
        return self.state is RunState.RUNNING and self._wish is Wish.PAUSE

    @property
    def is_stopping(self) -> bool:
        """Whether it was asked to stop and is still in a step."""
        return self.state is RunState.RUNNING and self._wish is Wish.STOP

    def train(self, begin: Begin, others_wait: Callable[[], bool]) -> Ended:
        """Train until the end, a wish, or until nobody watches while others wait.

        The worker calls this, and `settled` then.
        """
        ended, self._gives_way = Ended(Reason.FAILED), False
        for event in guarded(lambda: self._events(begin, others_wait)):
            self.log.note(event)
            if isinstance(event, Ended):
                ended = event
        return ended

    def _events(self, begin: Begin, others_wait: Callable[[], bool]) -> Iterator[Event]:
        training = begin(self.spec, start=self._paused_at, snapshots=self.snapshots)
        self._training = training
        if self._wish is not Wish.GO_ON:
            training.stop()
        for event in training.events():
            yield event
            if self.seconds > self.limits.max_seconds:
                training.stop()
            elif not self.is_watched and others_wait():
                self._gives_way = True
                training.stop()

    def settled(self, ended: Ended) -> Status:
        """Let go of the device; returns what the run is now."""
        training, self._training, self._paused_at = self._training, None, None
        if ended.reason is Reason.FINISHED:
            return Status(RunState.FINISHED)
        can_go_on = training is not None and ended.reason in (Reason.STOPPED, Reason.LOST)
        checkpoint = training.checkpoint() if training is not None and can_go_on else None
        if checkpoint is None:
            return Status(RunState.FAILED, ended.fault)
        return self._left_off(checkpoint, ended)

    def _left_off(self, checkpoint: Checkpoint, ended: Ended) -> Status:
        """Here it would go on; what comes then depends on why it left off."""
        self.log.go_back(checkpoint.step)
        self.snapshots.go_back(checkpoint.step)
        if ended.reason is Reason.LOST and self._wish is not Wish.STOP:
            self._wish, self._paused_at = Wish.GO_ON, checkpoint
            return Status(RunState.PAUSED, ended.fault)
        if self._gives_way and self._wish is Wish.GO_ON:
            self._paused_at = checkpoint
            return Status(RunState.PAUSED, unwatched_fault(self.limits))
        state = STATE_AFTER_WISH[self._wish]
        if state is RunState.STOPPED:
            self.snapshots.keep(checkpoint.step, dict(checkpoint.weights))
            return Status(state, None if self._wish is Wish.STOP else time_fault(self.limits))
        self._wish, self._paused_at = Wish.GO_ON, checkpoint
        return Status(state)
