"""What a whole training takes: FLOPs by rule and exactly, and hours on devices."""

import dataclasses
from functools import lru_cache
from typing import NamedTuple

import pandas as pd
import streamlit as st

from blocks import ModelConfig
from blocks.cost import fit, training_cost
from blocks.cost.fit import Setup
from blocks.cost.hardware import HARDWARE
from blocks.cost.need import need
from blocks.cost.parameters import active_parameters
from blocks.cost.step import Shape
from blocks.cost.training_cost import compute_optimal_tokens
from pages.figures.theme import Picture
from pages.figures.units import HOUR, long_duration
from pages.panels.cost import shared, training_picture
from pages.panels.cost.shared import Plan
from pages.ui.chart import columns, show
from pages.ui.controls import pick, slide, slider
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.said import say


def hours(config: ModelConfig, plan: shared.Plan, n: int, setup: Setup) -> None:
    """Each kind of device, with what its maker states."""
    found = on_devices(config, plan, n, setup)
    shown = pd.DataFrame(
        {
            _("device"): [HARDWARE[each.device].title for each in found],
            _("peak, dense"): [f"{shared.flops(each.peak)}/s" for each in found],
            _("on one device"): [duration(each.device_hours) for each in found],
            _("on all devices"): [duration(each.hours) for each in found],
            _("devices needed at least, without activations"): [each.fewest for each in found],
        }
    )
    st.dataframe(shown, hide_index=True, key="hours_table", height="content")


class OnDevice(NamedTuple):
    """A training on one kind of device: hours on one, on all of them, and how few hold it."""

    device: str
    peak: float
    device_hours: float
    hours: float
    fewest: int


@lru_cache(maxsize=64)
def on_devices(
    config: ModelConfig, plan: shared.Plan, n: int, setup: Setup
) -> tuple[OnDevice, ...]:
    """Each device that computes in this number format."""
    done = shared.cost(config, plan.n_tokens, n, setup).done
    alone = dataclasses.replace(setup, n_devices=1)
    state = need(config, alone, Shape(1, 1), is_training=True).state
    found = []
    for name, device in HARDWARE.items():
        peak = device.peak.get(str(setup.weight_format))
        if peak is None:
            continue
        seconds = training_cost.device_seconds(done, peak, plan.utilisation)
        hours = seconds / training_cost.HOUR
        fewest = training_cost.fewest_devices(state, int(plan.usable * device.memory))
        found.append(OnDevice(name, peak, hours, hours / plan.n_devices, fewest))
    return tuple(found)


def hours_rows(config: ModelConfig, plan: shared.Plan, n: int, setup: Setup) -> pd.DataFrame:
    """Hours on so many of each kind of device, and whether they hold the training."""
    found = on_devices(config, plan, n, setup)
    return pd.DataFrame(
        {
            "device": [each.device for each in found],
            "label": [HARDWARE[each.device].title for each in found],
            "hours": [each.hours for each in found],
            "said": [duration(each.hours) for each in found],
            "fits": [plan.n_devices >= each.fewest for each in found],
        }
    )


TOKEN_STEPS = ((1e12, "T"), (1e9, "B"), (1e6, "M"))


def tokens(count: int) -> str:
    """A number of tokens in millions (M), billions (B), trillions (T), where it is round."""
    for size, name in TOKEN_STEPS:
        if count >= size:
            return f"{shared.rounded(count / size)} {name}"
    return shared.whole(count)


def duration(hours: float) -> str:
    """Seconds, hours, days or years, whichever says most."""
    return long_duration(HOUR * hours, _=_)


TOKENS = tuple(tenths * 10**power for power in range(5, 13) for tenths in (10, 15, 20, 30, 50, 70))


def plan_controls(plan: shared.Plan, optimal: int) -> None:
    """Tokens to learn from; on which devices, on how many, and how well they are used."""
    left, right = st.columns(2)
    with left:
        _tokens(plan.n_tokens, optimal)
        label = _("Utilization · share of the peak that is reached")
        slider("utilisation", label, plan.utilisation, step=0.01)
    with right:
        pick("training_device", _("Device"), HARDWARE, label_of=lambda name: HARDWARE[name].title)
        shared.device_count("training", plan.n_devices)


def _tokens(shown: int, optimal: int) -> None:
    if shown not in (*TOKENS, optimal):  # stays a choice: with others it would be another widget
        st.session_state["tokens_of_a_link"] = shown
    own = st.session_state.get("tokens_of_a_link", optimal)
    label = _("D · training tokens (20 per parameter: {n})")
    said = label.format(n=tokens(optimal))
    slide("n_training_tokens", said, (*TOKENS, optimal, own), shown, label_of=tokens)


def cost_sentence(config: ModelConfig, plan: Plan, n: int, setup: Setup) -> str:
    """The rule against the exact count."""
    found = shared.cost(config, plan.n_tokens, n, setup)
    text = _(
        "6·N·D = 6 · {n_parameters:,} · {tokens} = {rule}. The exact count is {exact}, "
        "{share:.2f} times that."
    )
    return text.format(
        n_parameters=fit.n_parameters(config),
        tokens=tokens(plan.n_tokens),
        rule=shared.flops(found.rule),
        exact=shared.flops(found.exact),
        share=found.exact / found.rule,
    )


def optimal_sentence(config: ModelConfig, plan: Plan) -> str:
    """How far from twenty tokens a parameter."""
    ratio = plan.n_tokens / active_parameters(config)
    text = _(
        "{ratio} tokens per parameter. Hoffmann et al. (2022) found about 20 to be best "
        "for a fixed number of FLOPs: {optimal} here. A model that will be used a lot "
        "is trained longer."
    )
    return text.format(ratio=shared.rounded(ratio), optimal=tokens(compute_optimal_tokens(config)))


def hours_sentence(config: ModelConfig, plan: Plan, n: int, setup: Setup) -> str:
    """Hours on the chosen devices, and whether they hold it."""
    rows = {each.device: each for each in on_devices(config, plan, n, setup)}
    title = HARDWARE[plan.device].title
    if plan.device not in rows:
        text = _("{device} does not compute in {dtype}: choose another number format.")
        return text.format(device=title, dtype=setup.weight_format)
    found = rows[plan.device]
    text = _(
        "{count:,} × {device} at {utilisation:.0%} of {peak}/s: {time}, {hours} on one device."
    )
    said = text.format(
        count=plan.n_devices,
        device=title,
        utilisation=plan.utilisation,
        peak=shared.flops(found.peak),
        time=duration(found.hours),
        hours=duration(found.device_hours),
    )
    text = _(
        "Weights, gradients and optimizer states alone, without activations, need "
        "{fewest:,} of them (using {usable:.0%} of the memory)."
    )
    if found.fewest > plan.n_devices:
        text = _(
            "But weights, gradients and optimizer states alone, without activations, "
            "need {fewest:,} of them (using {usable:.0%} of the memory)."
        )
    return f"{said} {text.format(fewest=found.fewest, usable=plan.usable)}"


def hours_note() -> str:
    """What the hours leave out."""
    return _(
        "Time = FLOPs (with recomputation) / (devices · utilization · peak). Hatched: "
        "this many devices cannot hold weights, gradients and optimizer states, even "
        "sharded evenly and without activations (“Does it fit?” counts those too). "
        "Communication, failures and evaluation are part of the utilization, or not "
        "counted."
    )


def cost_alt(config: ModelConfig, plan: Plan, n: int, setup: Setup) -> str:
    """Write the alt text of the steps."""
    table = shared.cost_rows(config, plan, n, setup)
    rows = shared.in_words(table)
    return _("From the rule of thumb to the exact count: {rows}.").format(rows=rows)


def hours_alt(config: ModelConfig, plan: Plan, n: int, setup: Setup) -> str:
    """Write the alt text of the bars."""
    table = hours_rows(config, plan, n, setup)
    rows = shared.in_words(table)
    return _("Time of the training on each kind of device: {rows}.").format(rows=rows)


@section
def what_training_takes(config: ModelConfig) -> None:
    """Tokens, FLOPs, devices, hours."""
    code = (training_cost.training_cost, training_cost.device_seconds)
    concepts = ("training_cost", "devices")
    plan = shared.plan(config)
    with explained(concepts, code, key="training_cost"):
        plan_controls(plan, training_cost.compute_optimal_tokens(config))
    shown = config, plan, shared.shape().n, shared.setup(is_training=True)
    say(hours_sentence, *shown)
    left, right = columns(2)
    with left:
        show(draw_cost, *shown, key="cost_waterfall", alt=cost_alt)
        note(cost_sentence(*shown))
        note(optimal_sentence(config, plan))
    with right:
        show(draw_hours, *shown, key="hours_bars", alt=hours_alt)
        note(hours_note())
    with st.expander(_("Every device in numbers"), icon=":material/table_rows:"):
        hours(*shown)


def draw_cost(config: ModelConfig, plan: Plan, n: int, setup: Setup) -> Picture:
    """From the rule to the exact count."""
    return training_picture.waterfall(shared.cost_rows(config, plan, n, setup), _=_)


def draw_hours(config: ModelConfig, plan: Plan, n: int, setup: Setup) -> Picture:
    """Time on so many of each kind of device."""
    table = hours_rows(config, plan, n, setup)
    title = _("Time on {count:,} devices at {utilisation:.0%} of their peak in {dtype}")
    if plan.n_devices == 1:
        title = _("Time on one device at {utilisation:.0%} of its peak in {dtype}")
    title = title.format(
        count=plan.n_devices, utilisation=plan.utilisation, dtype=setup.weight_format
    )
    return training_picture.hours_bars(table, plan.device, title=title, _=_)
