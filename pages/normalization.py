"""Norm and residual connection: what they do to values, and what they do for depth."""

import pages.page.entrance  # noqa: F401

from blocks.model.faults import N_
from pages.panels.interventions import ablation
from pages.panels.model_page import show_model_page
from pages.panels.normalization import axes, depth, layers, placements, race, theory

TITLE = N_("Norms: what they do in deep networks")

PANELS = (
    axes.PANEL,
    axes.DEPENDENCE,
    placements.PANEL,
    depth.PANEL,
    theory.PANEL,
    race.PANEL,
    layers.PANEL,
    ablation("n_layers", "norm_placement", "residual"),
)

show_model_page(TITLE, PANELS)
