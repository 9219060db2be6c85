"""The code that is shown is the code that runs."""

import inspect

import pytest
from toy import toy, toys

from blocks import ModelConfig, build
from blocks.inspection.source import heads_source, layer_source, part_source
from blocks.model.kinds import NormKind, NormPlacement, PositionKind
from blocks.observe.wiring import PartKind, wiring

CONFIGS = [
    *toys(norm_placement=NormPlacement, activation=["gelu", "swiglu"]),
    *toys(norm_kind=NormKind, position_kind=PositionKind),
    *toys(n_experts=[4], activation=["gelu", "swiglu"]),
]


@pytest.mark.parametrize("config", CONFIGS)
def test_shown_classes_are_those_of_the_model(config: ModelConfig):
    built = {type(module) for module in build(config).modules()}
    shown = [*layer_source(config)]
    for part in PartKind:
        shown += part_source(config, part)
    assert {source for source in shown if inspect.isclass(source)} <= built
    assert all(inspect.getsource(source) for source in shown)


@pytest.mark.parametrize("config", CONFIGS)
def test_every_step_that_computes_has_a_source(config: ModelConfig):
    for step in wiring(config):
        if step.part is not PartKind.EMBEDDING:
            assert part_source(config, step.part), step


def test_what_is_not_there_has_no_source():
    assert part_source(toy(norm_kind="none"), PartKind.NORM) == ()
    assert part_source(toy(position_kind="none"), PartKind.POSITION) == ()


def test_a_pattern_has_a_source():
    assert all(inspect.getsource(source) for source in heads_source())
