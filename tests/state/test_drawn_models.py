"""A configuration of any kind survives its link, and the sidebar offers what changes the model."""

import pytest
from drawn_configs import SEEDS, changed, drawn, said
from streamlit.testing.v1 import AppTest

from blocks import ModelConfig
from blocks.model.in_use import settings_in_use
from blocks.model.kinds import Architecture
from pages.page.sidebar import BESIDE, CONTROLS, OF_COUNTED, Shown, drawable
from pages.stage import link
from pages.state.fields import CONFIG

pytestmark = pytest.mark.usefixtures("session")
seeds = pytest.mark.parametrize("seed", SEEDS)


def on_page(config: ModelConfig, architecture: Architecture) -> ModelConfig:
    """What a page of this architecture shows of it."""
    if architecture is Architecture.BLOCK:
        return config.one_block()
    return config.nearest(architecture=architecture)[0]


@seeds
def test_a_configuration_survives_its_link(seed: int):
    usual = link.config()  # a link does not say the architecture
    config, _ = drawn(seed).nearest(architecture=usual.architecture)
    moved = {name for name in CONFIG if config.plain(name) != usual.plain(name)}
    link.become({name: config.plain(name) for name in moved})
    read = link.read(link.as_query())
    assert read.faults == () and link.mend(read.values) == (read.values, ()), said(config)
    link.become(read.values)
    assert link.config() == config


@seeds
def test_a_control_is_offered_where_it_changes_what_the_page_shows(seed: int):
    """That what is in use changes the model, and nothing else does, is asked of the models."""
    config, architecture = drawn(seed), [*Architecture][seed % len(Architecture)]
    shown = on_page(config, architecture)
    used, offered = settings_in_use(shown), drawable(Shown(shown))
    assert {*offered} >= BESIDE and offered == [name for name in CONTROLS if name in offered]
    for name in (CONTROLS.keys() & CONFIG) - OF_COUNTED:
        others = [on_page(other, architecture) for other in changed(shown, name)]
        does_something = any(settings_in_use(other) != used for other in others)
        if name not in offered:
            assert not does_something, f"{name}: {said(config)}"
        elif others:
            assert does_something, f"{name}: {said(config)}"


def test_a_control_shows_what_the_page_shows():
    """A decoder layer has three sub-layers: what a link asks of two is mended there."""

    def at_the_side() -> None:
        import streamlit as st

        from blocks.model.kinds import Architecture
        from pages.page.sidebar import CONTROLS, Shown
        from pages.stage import weights

        st.session_state["values"] = {"norm_placement": "parallel"}
        shown = Shown(weights.config(Architecture.ENCODER_DECODER, ""))
        CONTROLS["norm_placement"].draw("norm_placement", shown)

    at = AppTest.from_function(at_the_side).run()
    group = next(each for each in at.main if each.key == "norm_placement")
    assert group.value == "pre" and "parallel" not in group.options
