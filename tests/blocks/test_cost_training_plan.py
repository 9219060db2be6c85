"""Facts about a planned training: its steps from the rule, and the devices that do it."""

import pytest
from toy import toy

from blocks.cost.hardware import HARDWARE
from blocks.cost.setup import Setup, WeightFormat
from blocks.cost.training_plan import Plan, TrainingFacts, training_facts

PLAN = Plan(n_tokens=10**6, device="t4", n_devices=2, utilisation=0.5, usable=0.9)


def facts_of(plan: Plan = PLAN, **setup) -> TrainingFacts:
    return training_facts(toy(architecture="gpt"), plan, 8, Setup(**setup))


@pytest.mark.parametrize("checkpointing", [False, True])
def test_the_steps_lead_from_the_rule_to_the_exact_count(checkpointing: bool):
    facts = facts_of(checkpointing=checkpointing, fused=False)
    flops = {name: count for name, _measure, count in facts.steps}
    assert flops.pop("recomputed", 0) == facts.cost.recomputed
    exact = flops.pop("exact")
    assert sum(flops.values()) == exact == pytest.approx(facts.of_rule * flops["rule"])


def test_devices_share_the_time_and_must_hold_the_states():
    facts = facts_of(weight_format=WeightFormat.FLOAT16)
    found = facts.chosen
    assert found.device == "t4" and found.is_enough and found.fewest == 1
    assert found.alone_seconds == 2 * found.seconds
    assert found.alone_seconds == facts.cost.done / (0.5 * HARDWARE["t4"].peak["float16"])
    full = facts_of(PLAN._replace(usable=1e-8), weight_format=WeightFormat.FLOAT16)
    assert not full.chosen.is_enough and full.chosen.fewest > 2


def test_a_device_without_the_format_is_not_among_them():
    facts = facts_of(weight_format=WeightFormat.BFLOAT16)
    assert facts.chosen is None
    assert [each.device for each in facts.devices] == [
        name for name, device in HARDWARE.items() if "bfloat16" in device.peak
    ]
