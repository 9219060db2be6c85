"""The sweeps of a server: each goes on once for all who look, and leaves off where nobody does."""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import fmean

from blocks.model.faults import N_, ConfigError, Fault
from blocks.sweep.engine import Began, Engine, Retried, Told, Waits
from blocks.sweep.job import Done
from blocks.sweep.outcome import Outcome
from blocks.sweep.point import Point
from blocks.sweep.run import trained
from blocks.sweep.store import Store
from blocks.sweep.sweep import Sweep
from blocks.training.events import Ended, Evaluation, Reason, Step

SECONDS_UNWATCHED = 180.0
MOST_KEPT = 50
logger = logging.getLogger(__name__)


@dataclass
class Live:
    """A training that goes on: where, how far, and its held-out losses by step so far."""

    place: str
    began: float
    step: int = 0
    looks: list[tuple[int, float]] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class View:
    """A sweep as it is now; `points` are those that are wanted by what is known so far.

    `waiting`: those whose turn comes, each with how many are before it; with none before it, its
    process starts. `seconds_left` by those that have ended; None before the first.
    """

    sweep: Sweep
    points: tuple[Point, ...]
    found: Mapping[str, Outcome]
    live: Mapping[str, Live]
    waiting: Mapping[str, int]
    faults: tuple[Fault, ...]
    is_running: bool
    n_planned: int
    seconds_left: float | None


class _Going:
    """What a sweep has told since it was started."""

    def __init__(self) -> None:
        self.live: dict[str, Live] = {}
        self.waiting: dict[str, int] = {}
        self.faults: list[Fault] = []
        self.took: list[float] = []  # seconds of each that was trained to its end
        self.n_at_once, self.seen = 1, time.monotonic()
        self.begun, self.starting = self.seen, 0.0
        self.is_stopped, self.is_over = False, False

    def leaves_off(self) -> bool:
        """Whether it was stopped, or nobody looked for long."""
        return self.is_stopped or time.monotonic() > self.seen + SECONDS_UNWATCHED

    def seconds_left(self, n_left: int) -> float | None:
        """At the mean of those that have ended; those that go on have some of it behind them."""
        if not self.took:
            return None
        mean, now = fmean(self.took), time.monotonic()
        behind = sum(min(mean, now - each.began) for each in self.live.copy().values())
        return max(0.0, mean * n_left - behind) / self.n_at_once

    def hear(self, told: Told) -> None:
        """Note what is told."""
        key = told.point.key
        match told.event:
            case Waits(n_before=n):
                self.waiting[key] = n
                self.begun = time.monotonic()
            case Began(place=place):
                self._begin(key, place)
            case Retried() | Step() if key in self.live:
                self.live[key].step = getattr(told.event, "step", self.live[key].step)
            case Evaluation(step=step, held_out_loss=loss) if key in self.live:
                self.live[key].looks.append((step, loss))
            case Done():
                if live := self.live.pop(key, None):
                    self.took.append(time.monotonic() - live.began)
            case Ended(reason=reason, fault=fault):
                self.live.pop(key, None)
                self.waiting.pop(key, None)
                if fault is not None and reason is not Reason.STOPPED:
                    self.faults.append(fault)

    def _begin(self, key: str, place: str) -> None:
        """Note where it is trained, and how long its process took to start."""
        if self.waiting.pop(key, None) == 0:
            self.starting = max(self.starting, time.monotonic() - self.begun)
        self.live[key] = Live(place, time.monotonic())
        self.n_at_once = max(self.n_at_once, len(self.live))


class Sweeps:
    """The registry; `engine` makes one for a device."""

    def __init__(self, store: Store, engine: Callable[[str], Engine], *, most_points: int = 200):
        self.store, self.most_points = store, most_points
        self.starting = 0.0  # seconds of a process to start, of the slowest so far
        self._engine, self._lock = engine, threading.Lock()
        self._going: OrderedDict[Sweep, _Going] = OrderedDict()
        self._found: OrderedDict[str, Outcome] = OrderedDict()

    def check(self, sweep: Sweep) -> None:
        """Raise `ConfigError` where it is too large."""
        if (n := len(sweep.planned())) > self.most_points:
            text = N_("{n} runs exceed the {most} allowed here: use fewer values or seeds")
            raise ConfigError([Fault(text, {"n": n, "most": self.most_points})])

    def start(self, sweep: Sweep) -> None:
        """Go on with it, unless it goes on. Raises `ConfigError` where it is too large."""
        self.check(sweep)
        with self._lock:
            going = self._going.get(sweep)
            if going is not None and not going.is_over:
                return
            going = self._going[sweep] = _Going()
            self._going.move_to_end(sweep)
            over = [each for each, of in self._going.items() if of.is_over]
            for each in over[: max(0, len(self._going) - MOST_KEPT)]:
                del self._going[each]
        threading.Thread(target=self._go, args=(sweep, going), daemon=True).start()

    def stop(self, sweep: Sweep) -> None:
        """Leave off after the current updates; each training is saved where it is."""
        if going := self._going.get(sweep):
            going.is_stopped = True

    def view(self, sweep: Sweep) -> View:
        """How it stands, whoever has trained its points; who asks watches it."""
        going = self._going.get(sweep) or _Going()
        going.seen = time.monotonic()
        found: dict[str, Outcome] = {}
        while True:
            losses = {key: each.held_out_loss for key, each in found.items()}
            points = sweep.points(losses)
            new = {p.key: each for p in points if p.key not in found and (each := self._get(p))}
            if not new:
                break
            found |= new
        is_running = sweep in self._going and not going.is_over
        n_planned = len(sweep.planned())
        return View(
            sweep,
            points,
            found,
            going.live.copy(),
            going.waiting.copy(),
            tuple(going.faults),
            is_running,
            n_planned,
            going.seconds_left(n_planned - len(found)),
        )

    def close(self) -> None:
        """Leave off all."""
        for going in self._going.values():
            going.is_stopped = True

    def _get(self, point: Point) -> Outcome | None:
        """From its file, read once."""
        found = self._found.get(point.key) or self.store.get(point)
        if found is not None:
            self._found[point.key] = found
            while len(self._found) > 20 * self.most_points:
                self._found.popitem(last=False)
        return found

    def _go(self, sweep: Sweep, going: _Going) -> None:
        try:
            engine = self._engine(sweep.base.device)
            for told in trained(sweep, engine, self.store, going.leaves_off):
                going.hear(told)
                self.starting = max(self.starting, going.starting)
        except ConfigError as error:
            going.faults += error.faults
        except Exception as error:
            logger.exception("a sweep failed")
            text = N_("This computation failed ({error}): try other settings, and please report it")
            going.faults.append(Fault(text, {"error": f"{type(error).__name__}: {error}"}))
        finally:
            going.is_over = True
            going.live.clear()
            going.waiting.clear()
