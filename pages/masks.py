"""Masks: who may see whom, and a test whether it holds."""

import pages.page.entrance  # noqa: F401

from blocks.model.faults import N_
from pages.panels.interventions import ablation
from pages.panels.masks import edges, leaks, peeking, steps
from pages.panels.model_page import show_model_page

TITLE = N_("Masks: who may attend to whom")

PANELS = (
    leaks.PANEL,
    steps.PANEL,
    peeking.PANEL,
    edges.NO_KEY,
    edges.CROSS,
    ablation("n_layers", "n_heads", "residual"),
)

show_model_page(TITLE, PANELS)
