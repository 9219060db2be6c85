"""What a whole training takes: FLOPs by rule and exactly, and hours on devices."""

import streamlit as st

from blocks import ModelConfig
from blocks.cost import training_cost
from blocks.cost.fit import Setup
from pages.figures import training_flops
from pages.ui.chart import columns, show
from pages.ui.cost import chosen, controls, frames, tables, training_words
from pages.ui.cost.chosen import Plan
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.said import say


@section
def what_training_takes(config: ModelConfig) -> None:
    """Tokens, FLOPs, devices, hours."""
    code = (training_cost.training_cost, training_cost.device_seconds)
    concepts = ("training_cost", "devices")
    plan = chosen.plan(config)
    with explained(concepts, code, key="training_cost"):
        controls.plan_controls(plan, training_cost.compute_optimal_tokens(config))
    shown = config, plan, chosen.shape().n, chosen.setup(is_training=True)
    say(training_words.hours_sentence, *shown)
    left, right = columns(2)
    with left:
        show(draw_cost, *shown, key="cost_waterfall", alt=training_words.cost_alt)
        note(training_words.cost_sentence(*shown))
        note(training_words.optimal_sentence(config, plan))
    with right:
        show(draw_hours, *shown, key="hours_bars", alt=training_words.hours_alt)
        note(training_words.hours_note())
    with st.expander(_("Every device in numbers"), icon=":material/table_rows:"):
        tables.hours(*shown)


def draw_cost(config: ModelConfig, plan: Plan, n: int, setup: Setup):
    """From the rule to the exact count."""
    return training_flops.waterfall(frames.cost_rows(config, plan, n, setup), _=_)


def draw_hours(config: ModelConfig, plan: Plan, n: int, setup: Setup):
    """Time on so many of each kind of device."""
    table = frames.hours_rows(config, plan, n, setup)
    title = _("Time on {count:,} devices at {utilisation:.0%} of their peak in {dtype}")
    if plan.n_devices == 1:
        title = _("Time on one device at {utilisation:.0%} of its peak in {dtype}")
    title = title.format(
        count=plan.n_devices, utilisation=plan.utilisation, dtype=setup.weight_format
    )
    return training_flops.hours_bars(table, plan.device, title=title, _=_)
