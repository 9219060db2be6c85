"""Attention: where a token reads from, and how that number is made."""

import pages.page.entrance  # noqa: F401

from blocks.model.faults import N_
from pages.panels import contribution_graph
from pages.panels.attention import (
    all_heads,
    contribution,
    gradient,
    kinds,
    pattern,
    probe,
    random_scores,
    scaling,
    sharing,
    steps,
)
from pages.panels.interventions import ablation
from pages.panels.model_page import show_model_page

TITLE = N_("Attention: where a token reads from")

PANELS = (
    steps.PANEL,
    gradient.PANEL,
    random_scores.PANEL,
    scaling.PANEL,
    contribution.PANEL,
    contribution_graph.PANEL,
    pattern.PANEL,
    all_heads.PANEL,
    probe.PANEL,
    sharing.PANEL,
    kinds.PANEL,
    ablation("n_layers", "n_heads", "residual"),
)

show_model_page(TITLE, PANELS)
