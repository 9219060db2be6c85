"""A click on a part of the model, and the controls that describe a change."""

import pytest

from blocks import PRESETS
from blocks.model.masks import MaskConfig
from blocks.observe.interventions import heads_of
from blocks.observe.run import Input, Run
from pages.show.interventions import controls
from pages.stage import interventions as state


@pytest.mark.usefixtures("session")
def test_the_controls_describe_the_part_that_was_clicked():
    text = Input(tokens=("a", "b"))
    run = Run(config=PRESETS["course"], input=text, mask=MaskConfig(mask_kind="causal"))
    every = heads_of(run.config)
    for i in (2, len(every) - 1):
        controls.switch_off(run, [i])
        assert controls.chosen(run) == every[i]
        assert every[i] in state.asked()
    controls.switch_off(run, [2])
    assert every[2] not in state.asked()
