"""The wiring that is drawn is the one that runs."""

import pytest
import torch
from toy import assert_near, toy, toy_input, toys

from blocks import ModelConfig, build, record
from blocks.model.kinds import NormKind, NormPlacement, PositionKind
from blocks.observe.wiring import PartKind, wiring

EVERY_WIRING = toys(
    norm_placement=NormPlacement,
    norm_kind=NormKind,
    position_kind=PositionKind,
    residual=[True, False],
)


def stages(config: ModelConfig) -> list[str]:
    return [step.stage for step in wiring(config)]


@pytest.mark.parametrize("placement", NormPlacement)
def test_wiring_names_the_stages_that_are_recorded(placement: NormPlacement):
    for config in EVERY_WIRING:
        if config.norm.norm_placement is placement:
            seen = record(build(config), toy_input(), keep=())
            assert [path.removeprefix("layers.0.") for path in seen.stages] == stages(config), (
                config
            )


@pytest.mark.parametrize("config", [c for c in EVERY_WIRING if c.norm.norm_kind is NormKind.NONE])
def test_each_step_reads_what_came_before(config: ModelConfig):
    passed: set[str] = set()
    for step in wiring(config):
        assert set(step.reads) <= passed
        passed.add(step.stage)


@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize("placement", NormPlacement)
def test_what_a_step_reads_is_what_it_is_made_of(placement: NormPlacement, residual: bool):
    config = toy(norm_placement=placement, residual=residual)
    seen = record(build(config), toy_input())
    for step in wiring(config):
        read = [seen.tensor(stage) for stage in step.reads]
        if step.part is PartKind.RESIDUAL:
            assert_near(seen.tensor(step.stage), torch.stack(read).sum(dim=0))
        elif step.part is PartKind.NORM:  # fresh: weight 1 and bias 0
            normal = torch.nn.functional.layer_norm(read[0], read[0].shape[-1:])
            assert_near(seen.tensor(step.stage), normal)


def test_post_norm_order():
    assert stages(toy(norm_placement="post")) == [
        "input",
        "resid_pre",
        "attention_out",
        "attention_sum",
        "resid_mid",
        "feed_forward_out",
        "feed_forward_sum",
        "resid_post",
    ]


def test_pre_norm_order():
    assert stages(toy(norm_placement="pre", position_kind="rope")) == [
        "resid_pre",
        "attention_norm",
        "attention_out",
        "resid_mid",
        "feed_forward_norm",
        "feed_forward_out",
        "resid_post",
    ]
