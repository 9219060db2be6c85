"""Sentences about what a whole training takes."""

from blocks import ModelConfig
from blocks.cost import fit
from blocks.cost.fit import Setup
from blocks.cost.hardware import HARDWARE
from blocks.cost.parameters import active_parameters
from blocks.cost.training_cost import compute_optimal_tokens
from pages.ui.cost import amounts, counted, frames
from pages.ui.cost.chosen import Plan
from pages.ui.language import _


def cost_sentence(config: ModelConfig, plan: Plan, n: int, setup: Setup) -> str:
    """The rule against the exact count."""
    found = counted.cost(config, plan.n_tokens, n, setup)
    text = _(
        "6·N·D = 6 · {n_parameters:,} · {tokens} = {rule}. The exact count is {exact}, "
        "{share:.2f} times that."
    )
    return text.format(
        n_parameters=fit.n_parameters(config),
        tokens=amounts.tokens(plan.n_tokens),
        rule=amounts.flops(found.rule),
        exact=amounts.flops(found.exact),
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
    return text.format(
        ratio=amounts.rounded(ratio), optimal=amounts.tokens(compute_optimal_tokens(config))
    )


def hours_sentence(config: ModelConfig, plan: Plan, n: int, setup: Setup) -> str:
    """Hours on the chosen devices, and whether they hold it."""
    rows = {each.device: each for each in counted.on_devices(config, plan, n, setup)}
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
        peak=amounts.flops(found.peak),
        time=amounts.duration(found.hours),
        hours=amounts.duration(found.device_hours),
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
    """The steps in words."""
    table = frames.cost_rows(config, plan, n, setup)
    rows = frames.in_words(table)
    return _("From the rule of thumb to the exact count: {rows}.").format(rows=rows)


def hours_alt(config: ModelConfig, plan: Plan, n: int, setup: Setup) -> str:
    """The bars in words."""
    table = frames.hours_rows(config, plan, n, setup)
    rows = frames.in_words(table)
    return _("Time of the training on each kind of device: {rows}.").format(rows=rows)
