"""A training that goes as far as anyone has asked, and what is seen of it."""

from collections.abc import Callable
from math import isfinite
from threading import Lock
from typing import Generic, TypeVar

from blocks.model.faults import ConfigError
from blocks.training.events import Ended, Evaluation, Reason, Step
from blocks.training.loop import Training
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
