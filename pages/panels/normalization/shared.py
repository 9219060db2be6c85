"""What the panels of norms share: which placements stand beside each other, and what is refused."""

from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

from blocks import ConfigError
from blocks.model import devices
from blocks.model.faults import N_
from blocks.model.placements import own_placement, possible_placements
from blocks.observe.run import Run, out_of_memory_fault
from pages.server import cached
from pages.state.values import State
from pages.words import terms
from pages.words.language import _

NAMES = {
    "trained": N_("trained"),
    "apart": N_("trained, sinks set apart"),
    "random": N_("random weights"),
}
Asked = ParamSpec("Asked")
Found = TypeVar("Found")


def in_turn(
    device: str, measure: Callable[Asked, Found], *values: Asked.args, **more: Asked.kwargs
) -> Found:
    """What is measured on a device; `ConfigError` where it had no memory left for it."""
    with cached.turn(device):
        try:
            return measure(*values, **more)
        except RuntimeError as error:
            if not devices.is_out_of_memory(error):
                raise
        devices.free_memory()
        raise ConfigError([out_of_memory_fault()])


def chosen_placements(run: Run, state: State) -> tuple[str, ...]:
    """The reader's own placement first, then those that are drawn beside it."""
    own, beside = own_placement(run.config), state.depth_placements.split(",")
    possible = possible_placements(run.config)
    return (own, *(name for name in possible if name in beside and name != own))


def names(placements: Iterable[str]) -> dict[str, str]:
    return {name: _(NAMES[name]) if name in NAMES else terms.option(name) for name in placements}
