"""What is measured of the weights themselves: for this a model is built, where it fits."""

from functools import lru_cache

from blocks.cost.fitting import can_build
from blocks.cost.memory import estimate_memory
from blocks.inspection.weight_values import WeightValues, weight_values
from blocks.model import devices
from blocks.observe.run import Run
from pages.ui import cached, link
from pages.ui.parameters import counted
from pages.ui.settings import memory_budget

BUILT_UNASKED = 30_000_000


def is_small(run: Run) -> bool:
    """Whether the weights are so few that nobody needs to ask for them."""
    return counted.total(run.config) <= BUILT_UNASKED


def need(run: Run) -> int:
    """Bytes while the model is built: its weights, and what drawing them takes meanwhile."""
    dtype = devices.DTYPES[run.dtype]
    return estimate_memory(run.config, batch=1, seq_len=1, dtype=dtype).total


def is_shown(run: Run) -> bool:
    """Whether the weights are looked at: they fit, and are few or were asked for."""
    is_wanted = is_small(run) or link.value("spread_of_weights")
    return is_wanted and can_build(run.config) and need(run) <= memory_budget()


@lru_cache(maxsize=8)
def values(run: Run) -> WeightValues:
    """How the weights of this run are spread. Runs that differ in their input share the model.

    Raises ValueError where they are not to be looked at.
    """
    if not is_shown(run):
        raise ValueError("too large, or large and not asked for")
    model = cached.model(run)
    with cached.turn(run.device):
        return weight_values(model)
