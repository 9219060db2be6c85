"""Exact numbers of the page of costs, under the pictures that show them."""

import pandas as pd
import streamlit as st

from blocks import ModelConfig
from blocks.cost.fit import Setup
from blocks.cost.hardware import HARDWARE
from blocks.cost.passes import PassKind, pass_kinds, total_flops
from pages.ui.cost import amounts, counted, flop_words, frames, names
from pages.ui.cost.chosen import Plan, Shape
from pages.ui.language import _
from pages.ui.numbers import percent
from pages.ui.tables import show_whole


def operations(config: ModelConfig, kind: PassKind, shape: Shape, setup: Setup) -> None:
    """Every product with its formula, in letters and in numbers."""
    table = frames.operation_rows(config, kind, shape, setup)
    columns = {
        _("operation"): table["label"],
        _("forward"): table["forward"].map(amounts.flops),
        _("formula"): table["formula"],
        _("in numbers"): table["numbers"],
    }
    if table["backward"].any():
        columns[_("backward")] = table["backward"].map(amounts.flops)
    if table["recomputed"].any():
        columns[_("recomputed")] = table["recomputed"].map(amounts.flops)
    shown = pd.DataFrame(columns)
    st.dataframe(shown, hide_index=True, key="operation_table", height="content")


def passes(config: ModelConfig, shape: Shape) -> None:
    """Each kind of step: what it takes in all, and for each token."""
    rows = []
    for kind in pass_kinds(config):
        flops = total_flops(counted.step(config, kind, shape))
        tokens = flop_words.n_tokens(config, kind, shape)
        rows.append(
            {
                _("computation"): names.pass_kind(kind),
                _("total"): amounts.flops(flops),
                _("per token"): amounts.flops(flops / tokens),
                _("tokens computed"): f"{tokens:,}",
            }
        )
    show_whole(pd.DataFrame(rows))


def kept(config: ModelConfig, setup: Setup, shape: Shape) -> None:
    """Activations, term by term."""
    found = counted.kept(config, setup, shape)
    rows = [
        {
            _("saved for backward"): names.kept(part.name),
            _("bytes"): amounts.in_bytes(part.count(found.sizes)),
            _("share"): percent(part.count(found.sizes) / found.peak),
            _("formula"): part.formula(),
        }
        for part in found.parts
    ]
    rows.append(
        {
            _("saved for backward"): names.kept("working"),
            _("bytes"): amounts.in_bytes(found.working),
            _("share"): percent(max(0, found.working) / found.peak),
            _("formula"): found.working_formula,
        }
    )
    st.dataframe(pd.DataFrame(rows), hide_index=True, key="kept_table", height="content")


def fits(found: tuple[counted.Fits, ...]) -> None:
    """Each device: enough or not, and how far it goes."""
    show_whole(fits_frame(found))


def fits_frame(found: tuple[counted.Fits, ...]) -> pd.DataFrame:
    """The same as a frame."""
    is_shared = found[0].n_devices > 1
    batch = _("largest batch per device") if is_shared else _("largest batch")
    return pd.DataFrame(
        {
            _("device"): [names.device(each.device) for each in found],
            _("it fits"): [_("yes") if each.is_enough else _("no") for each in found],
            batch: [_most(each.batch, counted.LARGEST_BATCH) for each in found],
            _("longest text"): [_most(each.n, counted.LONGEST) for each in found],
            _("share of memory"): [f"{each.needed / each.memory:,.0%}" for each in found],
            _("usable memory"): [amounts.in_bytes(each.memory) for each in found],
        }
    )


def _most(found: int, most: int) -> str:
    """A largest size; what was not looked beyond is said to be more."""
    if found == 0:
        return _("none")
    return f"≥ {most:,}" if found == most else f"{found:,}"


def hours(config: ModelConfig, plan: Plan, n: int, setup: Setup) -> None:
    """Each kind of device, with what its maker states."""
    found = counted.on_devices(config, plan, n, setup)
    shown = pd.DataFrame(
        {
            _("device"): [HARDWARE[each.device].title for each in found],
            _("peak, dense"): [f"{amounts.flops(each.peak)}/s" for each in found],
            _("on one device"): [amounts.duration(each.device_hours) for each in found],
            _("on all devices"): [amounts.duration(each.hours) for each in found],
            _("devices needed at least, without activations"): [each.fewest for each in found],
        }
    )
    st.dataframe(shown, hide_index=True, key="hours_table", height="content")


def hardware() -> None:
    """What each maker states, and where."""
    shown = pd.DataFrame(
        {
            _("device"): [each.title for each in HARDWARE.values()],
            _("memory"): [amounts.in_bytes(each.memory) for each in HARDWARE.values()],
            _("bandwidth"): [f"{amounts.in_bytes(e.bandwidth)}/s" for e in HARDWARE.values()],
            **{
                dtype: [_rate(each.peak.get(dtype)) for each in HARDWARE.values()]
                for dtype in ("float32", "bfloat16", "float16")
            },
            _("stated in"): [each.source for each in HARDWARE.values()],
        }
    )
    st.dataframe(shown, hide_index=True, key="hardware_table", height="content")


def _rate(peak: float | None) -> str:
    return "–" if peak is None else f"{amounts.flops(peak)}/s"
