"""Many trainings on few devices: first come, first served, one at a time on each.

The queue is that of the machine, so trainings of other processes come first where they were first.
"""

import logging
import threading
import time
from collections import defaultdict, deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from blocks.model.faults import N_, ConfigError, Fault
from blocks.training.checkpoint import Checkpoint
from blocks.training.events import Ended
from blocks.training.failures import ended_by
from blocks.training.limits import Limits, limit_faults
from blocks.training.loop import Training
from blocks.training.remote import RemoteTraining
from blocks.training.snapshots import Snapshots
from blocks.training.spec import TrainingSpec
from blocks.training.training_run import Clock, RunState, Status, Trainer, TrainingRun, Wish
from blocks.work.queue import Lane, Place, Queue, Room, Ticket
from blocks.work.worker_process import Processes

SECONDS_BETWEEN_LOOKS = 0.25
logger = logging.getLogger(__name__)


class Runs:
    """The registry of all runs; whoever serves readers holds one.

    Each device has a worker thread while there is something to do; with a `folder` (of its turns)
    the thread listens to a process that trains, and takes no time of other threads. Changes go
    through one lock; looking at a run needs none. Who does not look any more gives way to who
    waits.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        on: Mapping[str, Limits] | None = None,
        clock: Clock = time.monotonic,
        folder: Path | None = None,
        queue: Queue | None = None,
    ):
        self.limits, self._on, self._clock = limits or Limits(), on or {}, clock
        self._queue, self._owns_queue = queue or Queue(), queue is None
        self._processes = None if folder is None else Processes(folder)
        self._lock = threading.Lock()
        self._runs: dict[str, TrainingRun] = {}
        self._queues: defaultdict[str, deque[TrainingRun]] = defaultdict(deque)
        self._tickets: dict[str, Ticket] = {}
        self._running: dict[str, TrainingRun] = {}
        self._workers: dict[str, threading.Thread] = {}
        self._seconds_per_work: dict[str, float] = {}

    def start(self, spec: TrainingSpec, *, owner: str | None = None) -> TrainingRun:
        """Put a run at the end of its device's queue. Raises `ConfigError` beyond the limits.

        Runs without an owner count only in all.
        """
        if faults := [*limit_faults(spec, self.limits_on(spec.device))]:
            raise ConfigError(faults)
        run = TrainingRun(spec, self.limits_on(spec.device), owner=owner, clock=self._clock)
        with self._lock:
            self._enqueue(run)
            self._runs[run.id] = run
        return run

    def limits_on(self, device: str) -> Limits:
        """What a run may have there: an accelerator allows more than a CPU."""
        return self._on.get(device, self.limits)

    def get(self, run_id: str) -> TrainingRun:
        """The run of this id. Raises `ConfigError` where it is not kept (any more)."""
        run = self._runs.get(run_id)
        if run is None:
            text = N_(
                "The training run {run_id} does not exist or is no longer available: "
                "start a new one"
            )
            raise ConfigError([Fault(text, {"run_id": run_id})])
        return run

    @property
    def kept(self) -> tuple[TrainingRun, ...]:
        """All that are kept, in the order in which they were started."""
        return tuple(self._runs.copy().values())

    def pause(self, run_id: str) -> None:
        """Give the device to the next; nothing is lost."""
        with self._lock:
            run = self.get(run_id)
            if run.state is RunState.RUNNING:
                run.ask(Wish.PAUSE)
            elif run.state is RunState.QUEUED:
                self._leave_queue(run, RunState.PAUSED)

    def resume(self, run_id: str) -> None:
        """Put a paused run at the end of the queue."""
        with self._lock:
            run = self.get(run_id)
            run.look()
            if run.is_pausing:
                run.ask(Wish.REQUEUE)
            elif run.state is RunState.PAUSED:
                self._enqueue(run)

    def stop(self, run_id: str) -> None:
        """End a run before its last step; its curves and snapshots stay."""
        with self._lock:
            run = self.get(run_id)
            if run.state is RunState.RUNNING:
                run.ask(Wish.STOP)
            elif not run.state.has_ended:
                self._leave_queue(run, RunState.STOPPED)

    def place(self, run_id: str) -> Place | None:
        """Its place in the queue, and the seconds until its turn by the pace measured so far.

        None where it neither runs nor waits. A step takes time in proportion to parameters ·
        tokens (Kaplan et al. 2020, section 2.1).
        """
        ticket = self._tickets.get(self.get(run_id).id)
        return None if ticket is None else self._queue.place(ticket)

    def warm(self, device: str) -> None:
        """Have a process ready on the device before a run asks for it."""
        if self._processes is not None:
            with suppress(OSError):  # the run will say so
                self._processes.of(device)

    def close(self) -> None:
        """Stop everything and wait for the workers."""
        with self._lock:
            runs, workers = list(self._runs), list(self._workers.values())
        for run_id in runs:
            self.stop(run_id)
        for worker in workers:
            worker.join()
        if self._processes is not None:
            self._processes.close()
        if self._owns_queue:
            self._queue.close()

    def _expected_seconds(self, run: TrainingRun) -> float | None:
        if run.seconds_left is not None:
            return min(run.seconds_left, self.limits.max_seconds)
        running = self._running.get(run.spec.device)
        pace = running.seconds_per_work if running else None
        pace = pace or self._seconds_per_work.get(run.spec.device)
        if pace is None:
            return None
        return min(pace * run.work_per_step * run.spec.recipe.n_steps, self.limits.max_seconds)

    def _leave_queue(self, run: TrainingRun, state: RunState) -> None:
        queue = self._queues[run.spec.device]
        if run in queue:
            queue.remove(run)
        self._give_up_place(run)
        run.status = Status(state)
        self._forget_oldest()

    def _enqueue(self, run: TrainingRun) -> None:
        device = run.spec.device
        self._tickets[run.id] = self._queue.enter(
            Lane("training", device),
            owner=run.owner or "",
            room=Room(self.limits.max_queued, self.limits.max_queued_per_owner),
            seconds_left=lambda: self._expected_seconds(run),
        )
        run.status = Status(RunState.QUEUED)
        self._queues[device].append(run)
        if device not in self._workers:
            worker = threading.Thread(target=self._work, args=(device,), daemon=True)
            self._workers[device] = worker
            worker.start()

    def _give_up_place(self, run: TrainingRun) -> None:
        ticket = self._tickets.pop(run.id, None)
        if ticket is not None:
            self._queue.leave(ticket)

    def _work(self, device: str) -> None:
        """Run what waits for the device, one after the other, until nothing waits."""
        lane = Lane("training", device)
        while (run := self._next(device)) is not None:
            ended = run.train(self._begin, lambda: self._queue.waiting(lane) > 0)
            with self._lock:
                self._put_back(run, _settled(run, ended))

    def _begin(
        self, spec: TrainingSpec, *, start: Checkpoint | None, snapshots: Snapshots
    ) -> Trainer:
        """In the device's process; in this one where that is not wanted or cannot be."""
        if self._processes is not None:
            try:
                process = self._processes.of(spec.device)
                return RemoteTraining(process, spec, start=start, snapshots=snapshots)
            except OSError as error:
                logger.warning("training in this process: %s", error)
        return Training(spec, start=start, snapshots=snapshots)

    def _next(self, device: str) -> TrainingRun | None:
        """The run whose turn it is; None where none of ours waits."""
        while True:
            with self._lock:
                if not self._queues[device]:
                    del self._workers[device]
                    return None
                ticket = self._tickets[self._queues[device][0].id]
                if self._queue.place(ticket).position == 0:
                    run = self._running[device] = self._queues[device].popleft()
                    run.status = Status(RunState.RUNNING)
                    return run
            time.sleep(SECONDS_BETWEEN_LOOKS)

    def _put_back(self, run: TrainingRun, status: Status) -> None:
        device = run.spec.device
        del self._running[device]
        self._give_up_place(run)
        if pace := run.seconds_per_work:
            self._seconds_per_work[device] = pace
        run.status = status
        if status.state is RunState.QUEUED:
            try:
                self._enqueue(run)
            except ConfigError as error:
                run.status = Status(RunState.PAUSED, error.faults[0])
        self._forget_oldest()

    def _forget_oldest(self) -> None:
        idle = [run_id for run_id, run in self._runs.items() if not run.state.is_active]
        for run_id in idle[: max(len(idle) - self.limits.max_kept, 0)]:
            del self._runs[run_id]


def _settled(run: TrainingRun, ended: Ended) -> Status:
    """What the run is now; an error in the last copy of its weights must not stop the worker."""
    try:
        return run.settled(ended)
    except Exception as error:
        return Status(RunState.FAILED, ended_by(error).fault)
