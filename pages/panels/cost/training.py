"""What a whole training takes: FLOPs by rule and exactly, and hours on devices."""

from functools import lru_cache, partial

import pandas as pd
import streamlit as st

from blocks import ModelConfig
from blocks.cost import training_cost, training_plan
from blocks.cost.hardware import HARDWARE
from blocks.cost.setup import Setup
from blocks.cost.training_plan import OnDevice, Plan, TrainingFacts
from blocks.cost.units import rounded
from blocks.model.faults import N_
from pages.figures.theme import Picture, Translate
from pages.figures.units import flops, long_duration
from pages.page.frame import section
from pages.panels.cost import shared, training_picture
from pages.server import machine
from pages.session.slot import Slot
from pages.show import phone
from pages.show.chart import columns, show
from pages.show.controls import pick
from pages.show.explain import explained, note
from pages.show.fold import details
from pages.show.said import say
from pages.show.tables import show_table
from pages.show.typed import slide_or_type, slider_or_type
from pages.stage import present
from pages.state.link_fields.cost import MOST_TOKENS
from pages.state.values import State
from pages.words.language import _, sentences
from pages.words.numbers import fine_percent

training_facts = lru_cache(maxsize=64)(training_plan.training_facts)
TOKENS = tuple(tenths * 10**power for power in range(5, 13) for tenths in (10, 15, 20, 30, 50, 70))
TRIFLE = 0.01  # of the time
TOKEN_STEPS = ((1e12, "T"), (1e9, "B"), (1e6, "M"))
TERMS = {
    "rule": N_("6·N·D"),
    "tables": N_("tables: looked up, not multiplied"),
    "vectors": N_("biases, norms: no matrix products"),
    "idle": N_("idle experts"),
    "pairs": N_("attention between tokens, or state"),
    "rest": N_("each token passes through one stack only (encoder or decoder)"),
    "exact": N_("exact count"),
    "recomputed": N_("recomputed"),
}


def tokens(count: int) -> str:
    """A number of tokens in millions (M), billions (B), trillions (T), where it is round."""
    for size, name in TOKEN_STEPS:
        if count >= size:
            return f"{rounded(count / size)} {name}"
    return f"{count:,}"


def says_cost(facts: TrainingFacts) -> str:
    """The rule against the exact count."""
    text = _(
        "6·N·D = 6 · {n_parameters:,} · {tokens} = {rule}. The exact count is {exact}, "
        "{share:.2f} times that."
    )
    return text.format(
        n_parameters=facts.n_parameters,
        tokens=tokens(facts.plan.n_tokens),
        rule=flops(facts.cost.rule),
        exact=flops(facts.cost.exact),
        share=facts.of_rule,
    )


def says_optimal(facts: TrainingFacts) -> str:
    """How far from twenty tokens a parameter."""
    text = _(
        "D is {ratio} tokens per active parameter. Hoffmann et al. (2022) found about 20 "
        "per parameter to be best for a fixed number of FLOPs: {optimal} tokens for this "
        "model. A model that will be used a lot is usually trained for longer."
    )
    ratio, optimal = rounded(facts.tokens_per_parameter), tokens(facts.optimal_tokens)
    return text.format(ratio=ratio, optimal=optimal)


def says_hours(facts: TrainingFacts) -> str:
    """How long the chosen devices take, and whether they hold it."""
    plan, found = facts.plan, facts.chosen
    title = HARDWARE[plan.device].title
    if found is None:
        text = _("{device} cannot compute in {dtype}: choose another number format.")
        return text.format(device=title, dtype=facts.setup.weight_format)
    text = _("One {device} at {utilisation:.0%} of {peak}/s takes {time}.")
    if plan.n_devices > 1:
        text = _(
            "{count:,} × {device} at {utilisation:.0%} of {peak}/s take {time}; one device "
            "would take {hours}."
        )
    said = text.format(
        count=plan.n_devices,
        device=title,
        utilisation=plan.utilisation,
        peak=flops(found.peak),
        time=long_duration(found.seconds, _=_),
        hours=long_duration(found.alone_seconds, _=_),
    )
    return sentences(said, _says_again(facts), _says_held(plan, found))


def _says_again(facts: TrainingFacts) -> str:
    """What is computed twice takes time, too, where that is more than a trifle."""
    if facts.recomputed_share < TRIFLE:
        return ""
    return _(
        "The time includes the {share} that is computed twice, by fused attention or "
        "checkpointing, which MFU as usually quoted leaves out."
    ).format(share=fine_percent(facts.recomputed_share))


def _says_held(plan: Plan, found: OnDevice) -> str:
    """How few of the devices hold it."""
    text = _(
        "But weights, gradients and optimizer states alone, without activations, need "
        "{fewest:,} of these devices (using {usable:.0%} of their memory)."
    )
    if found.is_enough:
        text = _(
            "Weights, gradients and optimizer states alone, without activations, need "
            "{fewest:,} of these devices (using {usable:.0%} of their memory)."
        )
    return text.format(fewest=found.fewest, usable=plan.usable)


def says_here(facts: TrainingFacts, flops_per_s: float) -> str:
    """What all of it would take on the machine that serves this page, without a pause."""
    text = _(
        "At the {rate}/s that this server now reaches in float32, the same training would "
        "take {time} without a break, if it fit in memory."
    )
    time = long_duration(facts.seconds_at(flops_per_s), _=_)
    return text.format(rate=flops(flops_per_s), time=time)


def term(name: str, facts: TrainingFacts) -> str:
    """What stands between the rule and the exact count."""
    if name == "rest" and facts.is_block:
        return _("gradient of the input: not needed")
    if name == "rest" and facts.has_modules:
        return _("MTP: shared output matrix used again")
    return _(TERMS[name])


def draw_cost(facts: TrainingFacts, *, _: Translate) -> Picture:
    labels = [term(name, facts) for name, _measure, _flops in facts.steps]
    return training_picture.waterfall(facts, labels, _=_)


def draw_hours(facts: TrainingFacts, *, _: Translate) -> Picture:
    """Time on so many of each kind of device."""
    plan = facts.plan
    title = _("Time on {count:,} devices at {utilisation:.0%} of their peak in {dtype}")
    if plan.n_devices == 1:
        title = _("Time on one device at {utilisation:.0%} of its peak in {dtype}")
    title = title.format(
        count=plan.n_devices, utilisation=plan.utilisation, dtype=facts.setup.weight_format
    )
    return training_picture.hours_bars(facts, title=title, _=_)


def cost_rows(facts: TrainingFacts) -> pd.DataFrame:
    """From 6·N·D to the exact count; what changes nothing is left out."""
    rows = [(term(name, facts), float(count)) for name, _measure, count in facts.steps]
    return pd.DataFrame(rows, columns=["label", "flops"])


def hours_table(facts: TrainingFacts) -> None:
    """Each kind of device, with what its maker states."""
    found = facts.devices
    rows = {
        _("device"): [HARDWARE[each.device].title for each in found],
        _("peak throughput (dense)"): [f"{flops(each.peak)}/s" for each in found],
        _("time on one device"): [long_duration(each.alone_seconds, _=_) for each in found],
        _("time on all devices"): [long_duration(each.seconds, _=_) for each in found],
        _("minimum number of devices, not counting activations"): [each.fewest for each in found],
    }
    show_table(pd.DataFrame(rows), key="hours_table")


Training = tuple[ModelConfig, Plan, int, Setup]


def shown_training(config: ModelConfig, state: State) -> Training:
    """What the reader plans: as many tokens as were asked for, or twenty for each parameter."""
    n_tokens = state.n_training_tokens or training_cost.compute_optimal_tokens(config)
    plan = Plan(
        min(n_tokens, MOST_TOKENS),
        state.training_device,
        state.n_training_devices,
        state.utilisation,
        state.usable_memory,
    )
    return config, plan, shared.shape(state).n, shared.setup(is_training=True, state=state)


def says_plan(plan: Plan) -> str:
    """What is set of a plan, in one line."""
    return _("{tokens} tokens, {count:,} × {device} at {utilisation:.0%} utilization").format(
        tokens=tokens(plan.n_tokens),
        count=plan.n_devices,
        device=HARDWARE[plan.device].title,
        utilisation=plan.utilisation,
    )


def plan_controls(plan: Plan, optimal: int) -> None:
    """Tokens to learn from; on which devices, on how many, and how well they are used."""
    left, right = st.columns(2)
    with left:
        token_control(plan.n_tokens, optimal)
        label = _("Utilization · share of peak achieved")
        slider_or_type("utilisation", label, plan.utilisation, step=0.01)
    with right:
        pick("training_device", _("Device"), HARDWARE, label_of=lambda name: HARDWARE[name].title)
        shared.device_count("training", plan.n_devices)


def token_control(shown: int, optimal: int) -> None:
    """Round numbers of tokens, the optimal one, and one that came with a link."""
    linked = Slot("tokens_of_a_link", optimal)
    if shown not in (*TOKENS, optimal):  # stays a choice: with others it would be another widget
        linked.keep(shown)
    own = linked.get()
    label = _("D · training tokens (20 per active parameter: {n})").format(n=tokens(optimal))
    slide_or_type("n_training_tokens", label, (*TOKENS, optimal, own), shown, label_of=tokens)


@section
def what_training_takes(config: ModelConfig, state: State) -> None:
    """Tokens, FLOPs, devices, hours."""
    code = (training_cost.training_cost, training_cost.device_seconds)
    shown = shown_training(config, state)
    facts = training_facts(*shown)
    with explained(("training_cost", "devices"), code, key="training_cost"), present.aside():
        draw = partial(plan_controls, facts.plan, facts.optimal_tokens)
        phone.folded(says_plan(facts.plan), draw, key="plan_fold")
    say(says_hours, *shown, facts=training_facts)
    note(says_here(facts, machine.speed()))
    left, right = columns(2)
    with left:
        show(draw_cost, *shown, facts=training_facts, key="cost_waterfall")
        note(says_cost(facts))
        note(says_optimal(facts))
    with right:
        show(draw_hours, *shown, facts=training_facts, key="hours_bars", room=480)
        text = _(
            "Time = FLOPs (with recomputation) / (devices · utilization · peak). In the "
            "hatched range this many devices cannot hold weights, gradients and optimizer "
            "states, even when fully sharded and without activations (“{panel}” counts "
            "those too). Communication, failures and evaluation count only if the "
            "utilization you set includes them."
        )
        note(text.format(panel=_(shared.FITS)))
    with details(_("Specifications of all devices"), icon=":material/table_rows:"):
        hours_table(facts)
