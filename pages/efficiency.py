"""Smaller models: rounded, masked, taken apart, and what each of them still can do."""

import pages.page.entrance  # noqa: F401

import streamlit as st

from blocks.model.faults import N_
from pages.page import panel
from pages.page.frame import counted_run, show_page, subtitle
from pages.page.panel import Panel
from pages.panels.efficiency import columns, score_text
from pages.panels.efficiency.activations import what_activations_lose
from pages.panels.efficiency.blame import what_is_to_blame
from pages.panels.efficiency.cache import how_few_bits_a_key
from pages.panels.efficiency.deletion import which_layers_can_go
from pages.panels.efficiency.distillation import what_a_teacher_adds
from pages.panels.efficiency.frontier import how_small
from pages.panels.efficiency.int8 import is_int8_faster
from pages.panels.efficiency.paths import which_paths
from pages.panels.efficiency.pruning import what_can_go
from pages.panels.efficiency.retraining import what_training_repairs
from pages.panels.efficiency.rounding import grid_controls, what_rounding_loses
from pages.panels.efficiency.shared import (
    shown_variant,
    stored_rounded,
    trained_models,
    ways_to_trained,
)
from pages.show import words
from pages.stage import present
from pages.state.values import State
from pages.words.language import say_fault

TITLE = N_("Efficiency: how small can a model be?")


def body(state: State) -> None:
    """The model that is made smaller, and the questions."""
    run = counted_run(panel.fields(PANELS))
    if not run.weights:
        ways_to_trained()
        return
    subtitle(words.counted(words.of_any_text, run))
    stored_rounded(run)
    shown_variant(run, state)
    with present.aside():
        score_text.choice(run, state)
    if fault := score_text.fault(run, state):
        st.info(say_fault(fault), icon=":material/lightbulb:")
        trained_models("shrink")
    else:
        panel.show(PANELS, run)


PANELS = (
    Panel("frontier", N_("How small?"), how_small),
    Panel("rounding", N_("What is lost in rounding?"), what_rounding_loses, grid_controls),
    columns.PANEL,
    Panel("blame", N_("Which matrix is to blame?"), what_is_to_blame, grid_controls),
    Panel("activations", N_("And activations?"), what_activations_lose),
    Panel("int8", N_("Is int8 faster here?"), is_int8_faster),
    Panel("cache", N_("And the KV cache?"), how_few_bits_a_key),
    Panel("pruning", N_("Which weights can go?"), what_can_go),
    Panel("retraining", N_("Can retraining repair the damage?"), what_training_repairs),
    Panel("distillation", N_("What does a teacher add?"), what_a_teacher_adds),
    Panel("deletion", N_("Which layers can go?"), which_layers_can_go),
    Panel("paths", N_("How deep is it really?"), which_paths),
)

show_page(TITLE, body)
