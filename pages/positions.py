"""Positions: how the order gets in."""

import pages.page.entrance  # noqa: F401

from blocks.model.faults import N_
from pages.panels.interventions import ablation
from pages.panels.model_page import show_model_page
from pages.panels.positions import beyond, claims, loss, matrix, trained_lengths

TITLE = N_("Positions: how word order enters the model")

PANELS = (
    matrix.PANEL,
    claims.PANEL,
    beyond.PANEL,
    trained_lengths.PANEL,
    loss.PANEL,
    ablation("n_layers", "n_heads", "position_kind"),
)

show_model_page(TITLE, PANELS)
