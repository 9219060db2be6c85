"""Errors that end a training become its last event."""

import logging
from collections.abc import Callable, Iterator
from typing import TypeVar

from blocks.model import devices
from blocks.model.faults import N_, ConfigError, Fault
from blocks.training.events import Ended, Reason
from blocks.training.recipe import OptimizerKind, Recipe

Told = TypeVar("Told")
LARGEST_MEND = 0.1
logger = logging.getLogger(__name__)


class DivergenceError(ConfigError):
    """The loss is not a number any more, or absurd."""


def guarded(training: Callable[[], Iterator[Told]]) -> Iterator[Told | Ended]:
    """The events of a training, with an `Ended` in the place of an error."""
    try:
        yield from training()
        return
    except DivergenceError as error:
        ended = Ended(Reason.DIVERGED, error.faults[0])
    except ConfigError as error:
        ended = Ended(Reason.FAILED, error.faults[0])
    except Exception as error:
        ended = ended_by(error)
    devices.free_memory()  # here, where the error's frames hold no tensors any more
    yield ended


def ended_by(error: Exception) -> Ended:
    """What to tell of an error that nobody expected; the traceback goes to the log."""
    if devices.is_out_of_memory(error):
        return Ended(Reason.OUT_OF_MEMORY, out_of_memory_fault())
    logger.error("training failed", exc_info=error)
    text = N_("Training failed ({error}): try other settings, and please report the error")
    return Ended(Reason.FAILED, Fault(text, {"error": f"{type(error).__name__}: {error}"}))


def out_of_memory_fault() -> Fault:
    """Fault for a device that ran out of memory despite the estimate."""
    text = N_("The device ran out of memory (now freed): use a smaller batch_size or d_model")
    return Fault(text)


def divergence(recipe: Recipe, step: int) -> DivergenceError:
    """Fault for a diverged loss; suggests a learning rate 10 times smaller.

    More than `LARGEST_MEND` is not offered: no optimizer here learns with much more.
    """
    names = ["learning_rate"]
    if recipe.optimizer is OptimizerKind.MUON:
        names.append("muon_learning_rate")
    rates = {name: getattr(recipe, name) for name in names}
    mend = {name: min(rate / 10, LARGEST_MEND) for name, rate in rates.items()}
    text = N_("The loss diverged at step {step}, with {rates}: use {choice}")
    values = {"step": step, "rates": _listed(rates), "choice": _listed(mend)}
    return DivergenceError([Fault(text, values, mend)])


def _listed(values: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in values.items())
