"""Sentences that read what norms did in this run, and pictures in words."""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, ParamSpec, TypeVar

import pandas as pd
import streamlit as st

from blocks import ConfigError, Fault
from blocks.inspection import norm_compared
from blocks.inspection.placements import Placed, measure_placed, placement_run
from blocks.model import devices
from blocks.model.faults import N_
from blocks.model.placements import own_placement, possible_placements
from blocks.observe.run import Run, out_of_memory_fault
from blocks.observe.wiring import PartKind, wiring
from pages.ui import cached, labelled, link, terms
from pages.ui.language import _, enumeration, say_fault


class Compared(NamedTuple):
    """The three norms on what one norm of the run reads; frames as `norm_compared` makes them."""

    per_token: pd.DataFrame
    per_feature: pd.DataFrame
    dependence: pd.DataFrame
    running: pd.DataFrame
    is_own: tuple[bool, bool]


def norm_inputs(run: Run, layer: int) -> list[str]:
    """The stages that the norms of a layer read; without a norm, the streams one could read."""
    steps = wiring(run.config, layer)
    read = [step.reads[0] for step in steps if step.part is PartKind.NORM]
    return list(dict.fromkeys(read)) or [
        step.stage for step in steps if step.stage in ("resid_pre", "resid_mid")
    ]


@lru_cache(maxsize=32)
def compared(run: Run, layer: int, stage: str) -> Compared:
    """What each norm makes of one stage, and what that depends on."""
    path, eps = f"layers.{layer}.{stage}", run.config.norm.norm_eps
    x, model = cached.recording(run).tensor(stage, layer), cached.model(run)
    with cached.turn(run.device):
        seen = norm_compared.outputs(x, eps)
        around = norm_compared.surroundings(run, model, x, path)
        return Compared(
            norm_compared.per_token(seen),
            norm_compared.per_feature(seen),
            norm_compared.dependence(around, eps),
            norm_compared.running(around.x, eps),
            around.is_own,
        )


@lru_cache(maxsize=64)
def in_placement(run: Run, placement: str, layer: int, head: int) -> Placed:
    """What a layer leaves and how a head reads with the norm there, weights from the seed."""
    with cached.turn(run.device):
        return _guarded(measure_placed, placement_run(run), placement, layer, head)


Asked = ParamSpec("Asked")
Found = TypeVar("Found")


def _guarded(measure: Callable[Asked, Found], *values: Asked.args, **more: Asked.kwargs) -> Found:
    """What is measured; `ConfigError` where the device had no memory left for it."""
    try:
        return measure(*values, **more)
    except RuntimeError as error:
        if not devices.is_out_of_memory(error):
            raise
    devices.free_memory()
    raise ConfigError([out_of_memory_fault()])


def shown_norm_input(run: Run, layer: int) -> str:
    """The stage that was asked for, where a norm of this layer reads it."""
    options, asked = norm_inputs(run, layer), link.value("norm_input")
    return asked if asked in options else options[0]


def chosen_placements(run: Run) -> tuple[str, ...]:
    """The reader's own placement first, then those that are drawn beside it."""
    own, beside = own_placement(run.config), link.value("depth_placements").split(",")
    possible = possible_placements(run.config)
    return (own, *(name for name in possible if name in beside and name != own))


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


VANISHED, ALIKE, SLOPE_TOLERANCE = 1e-3, 0.99, 0.15

NAMES = {"trained": N_("trained"), "random": N_("random weights")}


def names(placements: list[str]) -> dict[str, str]:
    """What each curve is called."""
    return {name: _(NAMES[name]) if name in NAMES else terms.option(name) for name in placements}


def all_placements(run: Run, layer: int, head: int) -> pd.DataFrame:
    """Moments of all placements, for download."""
    rows = {
        name: in_placement(run, name, layer, head).moments
        for name in possible_placements(run.config)
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("placement").reset_index()


def shown_layer(run: Run) -> int:
    """The layer that is looked at, in the model in which placements are compared."""
    return min(labelled.selected_layer(run), placement_run(run).config.n_layers - 1)
