"""A training that goes as far as anyone has asked, and what is seen of it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from threading import Lock
from typing import Any, ClassVar, Generic, TypeVar

from blocks.model.faults import ConfigError
from blocks.training.events import Ended, Evaluation, Reason, Step
from blocks.training.loop import Training
from blocks.training.recorded import Learned
from blocks.training.recorded import Look as Seen
from blocks.training.spec import TrainingSpec

T = TypeVar("T")
Look = Callable[[Training, Evaluation], T]


def evaluation(_training: Training, found: Evaluation) -> Evaluation:
    """The usual look: what the loop itself has measured."""
    return found


class Racer(Generic[T]):
    """One training, made as far as anyone has asked for; several threads may ask.

    `look` is taken at each evaluation, the first before any update. Raises `ConfigError` beyond
    `budget` bytes of memory.
    """

    def __init__(self, spec: TrainingSpec, look: Look[T], *, budget: int | None = None):
        self._training = Training(spec, budget=budget)
        self._events, self._look = self._training.events(), look
        self._losses: list[float] = []
        self._looks: list[T] = []
        self._lock = Lock()
        self.is_over = False

    def losses(self, n_updates: int) -> tuple[float, ...]:
        """The loss before each of the first updates, in nats; fewer where it diverged.

        Raises `ConfigError` where the device cannot do it.
        """
        with self._lock:
            while len(self._losses) < n_updates and not self.is_over:
                self._hear(next(self._events))
            return tuple(self._losses[:n_updates])

    def looks(self, n_updates: int) -> tuple[T, ...]:
        """What was seen before the first and after some of the first updates, in their order."""
        n = 1 + n_updates // self._training.recipe.steps_between_evaluations
        with self._lock:
            while len(self._looks) < n and not self.is_over:
                self._hear(next(self._events))
            return tuple(self._looks[:n])

    def _hear(self, event: object) -> None:
        match event:
            case Step(loss=loss) if isfinite(loss):
                self._losses.append(loss)
            case Evaluation():
                self._looks.append(self._look(self._training, event))
            case Ended(reason=reason, fault=fault):
                self.is_over = True
                if fault is not None and reason is not Reason.DIVERGED:
                    raise ConfigError([fault])


@dataclass(frozen=True)
class Race:
    """Trainings side by side, each a few updates at a time, so that they grow together.

    Its values are pieces of `Learned`: what a few updates of one training showed. Where some are
    known, they are made again on the way to the others.
    """

    specs: tuple[TrainingSpec, ...]
    n_updates: int
    at_once: int
    budget: int | None = None
    is_timed: ClassVar[bool] = False

    @property
    def device(self) -> str:
        """The device that they are trained on."""
        return self.specs[0].device

    @property
    def n_steps(self) -> int:
        """The number of pieces of all training runs together."""
        return len(self.specs) * (self.n_updates // self.at_once)

    def results(self, done: Sequence[Learned]) -> Iterator[Learned]:
        """In turn; all are built first, so that what does not fit is refused at once."""
        racers = [self.racer(spec) for spec in self.specs]
        looks = [0] * len(racers)
        for i in range(self.n_steps):
            each, end = i % len(racers), (i // len(racers) + 1) * self.at_once
            losses, seen = racers[each].losses(end), self.looks(racers[each], end)
            piece = Learned(losses[end - self.at_once :], seen[looks[each] :])
            looks[each] = len(seen)
            if i >= len(done):
                yield piece

    def racer(self, spec: TrainingSpec) -> Racer[Any]:
        """One of them, as it goes."""
        return Racer(spec, evaluation, budget=self.budget)

    def looks(self, _racer: Racer[Any], _n_updates: int) -> tuple[Seen, ...]:
        """Return what is recorded besides the losses: nothing."""
        return ()

    def learned(self, found: Sequence[Learned]) -> tuple[Learned, ...]:
        """Each training as far as all have come."""
        n = len(found) // len(self.specs) * len(self.specs)
        of_each = (found[i : n : len(self.specs)] for i in range(len(self.specs)))
        return tuple(
            Learned(
                tuple(loss for piece in pieces for loss in piece.losses),
                tuple(look for piece in pieces for look in piece.looks),
            )
            for pieces in of_each
        )
