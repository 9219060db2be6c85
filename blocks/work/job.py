"""Long work as plain data: a job says what is wanted, and its events tell what comes of it."""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, Protocol, TypeVar

from blocks.model import devices
from blocks.model.faults import N_, ConfigError, Fault

T_co = TypeVar("T_co", covariant=True)
logger = logging.getLogger(__name__)


class Job(Protocol):
    """A frozen dataclass that a process can be given as one line (`blocks.work.plain`).

    Where `is_timed`, nobody else computes on its `device` while it makes a step.
    """

    @property
    def device(self) -> str:
        """The device that it computes on."""
        ...

    @property
    def is_timed(self) -> bool:
        """Whether it measures time."""
        ...

    def events(self, leaves_off: Callable[[], bool]) -> Iterator[object]:
        """Do it, step by step, to its end or until it is to leave off."""
        ...

    def abandon(self) -> None:
        """Leave nothing behind where nobody is there any more to hear of it."""
        ...


class Series(Protocol[T_co]):
    """Work whose result is a number of values, known one after the other; hashable plain data."""

    @property
    def device(self) -> str:
        """The device that it computes on."""
        ...

    @property
    def is_timed(self) -> bool:
        """Whether it measures time."""
        ...

    @property
    def n_steps(self) -> int:
        """How many values it has."""
        ...

    def results(self, done: Sequence[Any]) -> Iterator[T_co]:
        """The values after the first ones, which are known. Raises `ConfigError`."""
        ...


@dataclass(frozen=True)
class Found:
    """The next value of a series."""

    value: Any


@dataclass(frozen=True)
class Refused:
    """Why there are no more."""

    faults: tuple[Fault, ...]


@dataclass(frozen=True)
class Rest(Generic[T_co]):
    """A series as a job: its first `end` values, from where they are known on."""

    series: Series[T_co]
    done: tuple[Any, ...]
    end: int

    @property
    def device(self) -> str:
        """The device that it computes on."""
        return self.series.device

    @property
    def is_timed(self) -> bool:
        """Whether it measures time."""
        return self.series.is_timed

    def events(self, leaves_off: Callable[[], bool]) -> Iterator[Found | Refused]:
        """`Found`, once for each value, and `Refused` in the place of an error."""
        try:
            for value in islice(self.series.results(self.done), self.end - len(self.done)):
                yield Found(value)
                if leaves_off():
                    return
            return
        except Exception as error:
            refused = _refused(error)
        devices.free_memory()  # here, where the error's frames hold no tensors any more
        yield refused

    def abandon(self) -> None:
        """Do nothing: it writes no files."""


def _refused(error: Exception) -> Refused:
    if isinstance(error, ConfigError):
        return Refused(error.faults)
    if devices.is_out_of_memory(error):
        return Refused((Fault(N_("The device ran out of memory (now freed): use smaller sizes")),))
    logger.error("work failed", exc_info=error)
    text = N_("This computation failed ({error}): try other settings, and please report it")
    return Refused((Fault(text, {"error": f"{type(error).__name__}: {error}"}),))
