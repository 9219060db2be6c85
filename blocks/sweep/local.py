"""Sweeps on this machine: as many processes as there is room for, a training in each."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

from blocks.model import devices
from blocks.model.faults import N_, Fault
from blocks.sweep.engine import Began, Retried, Told, Waits
from blocks.sweep.job import Done, PointJob, Saved
from blocks.sweep.point import Point
from blocks.training.events import Ended, Event, Reason, Step
from blocks.work.queue import Lane, Queue, Room
from blocks.work.worker_process import WorkerProcess

N_TRIES = 3
SECONDS_BETWEEN_LOOKS = 0.2
WAITING = Room(in_all=200, of_one=200)


def processes_at_once(device: str) -> int:
    """How many trainings of one thread fit on a device: one a core, one on an accelerator."""
    return devices.available_cpus() if device == "cpu" else 1


class LocalEngine:
    """Worker processes for the points of one device; `unfinished` is where each leaves its state.

    With a `queue` each point waits for its turn behind the trainings of others, so that several
    sweeps go on in turn, a point each.
    """

    def __init__(
        self,
        unfinished: Callable[[Point], Path],
        folder: Path,
        *,
        n_at_once: int,
        queue: Queue | None = None,
        seconds_between: float = 30.0,
    ):
        """`folder`: of the turns on the devices, which all that work on this machine share."""
        self.n_at_once = n_at_once
        self._unfinished, self._folder, self._queue = unfinished, folder, queue
        self._seconds_between = seconds_between

    def events(
        self, points: Iterator[Point | None], leaves_off: Callable[[], bool]
    ) -> Iterator[Told]:
        """See `Engine`; the processes end with it."""
        heard: SimpleQueue[Told | Exception | None] = SimpleQueue()
        is_over = threading.Event()
        drawn = _Drawn(points, lambda: is_over.is_set() or leaves_off())
        slots = [
            threading.Thread(target=self._slot, args=(i, drawn, heard), daemon=True)
            for i in range(self.n_at_once)
        ]
        for slot in slots:
            slot.start()
        n_left = len(slots)
        try:
            while n_left:
                match heard.get():
                    case None:
                        n_left -= 1
                    case Exception() as error:
                        raise error
                    case told:
                        yield told
        finally:
            is_over.set()
            for slot in slots:
                slot.join()

    def _slot(self, i: int, drawn: "_Drawn", heard: "SimpleQueue[Told | Exception | None]") -> None:
        slot = _Slot(self._folder, drawn, heard.put)
        try:
            while (point := drawn.next()) is not None:
                job = PointJob(point.spec, self._unfinished(point), self._seconds_between)
                with self._turn(i, point, slot) as is_ours:
                    if is_ours:
                        slot.train(point, job)
                    else:
                        heard.put(Told(point, Ended(Reason.STOPPED)))
        except Exception as error:
            heard.put(error)
        finally:
            slot.close()
            heard.put(None)

    @contextmanager
    def _turn(self, i: int, point: Point, slot: "_Slot") -> Iterator[bool]:
        """Wait behind others; whether the turn came before it was to leave off.

        The first process stands in line with single trainings, so that these never wait for long.
        """
        if self._queue is None:
            yield True
            return
        lane = Lane(f"sweep {i}" if i else "training", point.spec.device)
        ticket = self._queue.enter(lane, room=WAITING, seconds_left=lambda: slot.seconds_left)
        try:
            while (n := self._queue.place(ticket).position) and not slot.leaves_off():
                slot.tell(Told(point, Waits(n)))
                time.sleep(SECONDS_BETWEEN_LOOKS)
            yield not slot.leaves_off()
        finally:
            self._queue.leave(ticket)


class _Drawn:
    """Points that several threads draw, until it is to leave off."""

    def __init__(self, points: Iterator[Point | None], leaves_off: Callable[[], bool]):
        self._points, self.leaves_off, self._lock = points, leaves_off, threading.Lock()

    def next(self) -> Point | None:
        """The next one; None where there is none any more."""
        while not self.leaves_off():
            with self._lock:
                try:
                    point = next(self._points)
                except StopIteration:
                    return None
            if point is not None:
                return point
            time.sleep(SECONDS_BETWEEN_LOOKS)
        return None


class _Slot:
    """A process that trains one point after the other, started anew where it has ended."""

    def __init__(self, folder: Path, drawn: _Drawn, tell: Callable[[Told], None]):
        self._folder, self.tell = folder, tell
        self.leaves_off = drawn.leaves_off
        self._process: WorkerProcess | None = None
        self.seconds_left: float | None = None

    def train(self, point: Point, job: PointJob) -> None:
        """Train it to its end; where its process ends first, go on from where it was saved."""
        how = ""
        self.tell(Told(point, Waits(0)))
        for _i in range(N_TRIES):
            try:
                process = self._ready()
            except OSError as error:
                how = str(error)
                continue
            self.tell(Told(point, Retried(how) if how else Began(point.spec.device)))
            process.begin(job)
            if self._hear(point, process):
                return
            how = process.how_it_ended()
        text = N_("The training process ended {n} times ({how}): try a smaller model")
        self.tell(Told(point, Ended(Reason.LOST, Fault(text, {"n": N_TRIES, "how": how}))))

    def _hear(self, point: Point, process: WorkerProcess) -> bool:
        """Whether its last event came before the end of the process."""
        is_leaving, last = False, None
        for last in process.events():
            assert isinstance(last, Event | Done | Saved)
            self.tell(Told(point, last))
            if isinstance(last, Step):
                n_left = point.spec.recipe.n_steps - last.step
                self.seconds_left = last.seconds / last.step * n_left
            if not is_leaving and self.leaves_off():
                is_leaving = True
                process.leave_off()
        return isinstance(last, Done | Ended)

    def _ready(self) -> WorkerProcess:
        """The process. Raises `OSError` where none can be started."""
        if self._process is None or not self._process.is_alive:
            self.close()
            self._process = WorkerProcess(self._folder, gives_way=True)
        self._process.wait_until_ready()
        return self._process

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close()
