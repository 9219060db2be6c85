"""What the panels of norms share: which placements stand beside each other, and what is refused."""

from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

import streamlit as st

from blocks import ConfigError, Fault
from blocks.model import devices
from blocks.model.faults import N_
from blocks.model.placements import own_placement, possible_placements
from blocks.observe.run import Run, out_of_memory_fault
from pages.ui import cached, link, terms
from pages.ui.language import _, enumeration, say_fault

NAMES = {"trained": N_("trained"), "random": N_("random weights")}
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


def chosen_placements(run: Run) -> tuple[str, ...]:
    """The reader's own placement first, then those that are drawn beside it."""
    own, beside = own_placement(run.config), link.value("depth_placements").split(",")
    possible = possible_placements(run.config)
    return (own, *(name for name in possible if name in beside and name != own))


def names(placements: Iterable[str]) -> dict[str, str]:
    """What each curve is called."""
    return {name: _(NAMES[name]) if name in NAMES else terms.option(name) for name in placements}


def refused(fault: Fault) -> None:
    """What cannot be measured here, and a button with the nearest that can."""
    st.error(say_fault(fault), icon=":material/block:")
    if fault.mend:
        mend = enumeration(f"{name} = {value}" for name, value in fault.mend.items())
        label = _("Use {mend}").format(mend=mend)
        st.button(label, on_click=_apply, args=(fault,), key="mend_depth", type="primary")


def _apply(fault: Fault) -> None:
    for name, value in fault.mend.items():
        link.change(name, value)
