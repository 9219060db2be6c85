"""Feed-forward: what the wide layer does."""

import pages.page.entrance  # noqa: F401

from blocks.model.faults import N_
from pages.panels.feed_forward import (
    activation,
    dead_units,
    expert_cost,
    experts,
    gate,
    massive,
    positions,
    unit,
    width,
)
from pages.panels.interventions import ablation
from pages.panels.model_page import show_model_page

TITLE = N_("Feed-forward: what the hidden layer does")

PANELS = (
    activation.PANEL,
    gate.PANEL,
    dead_units.PANEL,
    unit.PANEL,
    massive.PANEL,
    width.PANEL,
    experts.PANEL,
    expert_cost.PANEL,
    positions.PANEL,
    ablation("n_layers", "d_ff", "residual"),
)

show_model_page(TITLE, PANELS)
