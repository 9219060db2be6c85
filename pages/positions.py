"""Positions: how the order gets in."""

import pages.ui.entrance  # noqa: F401

from blocks.model.faults import N_
from pages.panels.interventions import ablation
from pages.panels.model_page import show_model_page
from pages.panels.positions import shared
from pages.panels.positions.beyond import beyond_the_length
from pages.panels.positions.claims import claims_tested
from pages.panels.positions.loss import what_it_costs
from pages.panels.positions.matrix import the_positions
from pages.panels.positions.trained_lengths import which_extrapolates
from pages.ui.panel import Panel

TITLE = N_("Positions: how word order enters the model")

PANELS = (
    Panel(
        "kinds",
        N_("How is word order encoded?"),
        the_positions,
        fields=(
            "position_kind",
            "d_model",
            "n_heads",
            "rotary_share",
            "rope_scaling",
            "rope_factor",
        ),
        of_attention=True,
    ),
    Panel(
        "claims",
        shared.CLAIMS,
        claims_tested,
        fields=("position_kind", "d_model", "n_heads"),
        of_attention=True,
    ),
    Panel(
        "beyond",
        N_("Beyond the trained length?"),
        beyond_the_length,
        fields=("position_kind", "n_layers"),
        of_attention=True,
    ),
    Panel(
        "trained-lengths",
        N_("Which encoding extrapolates?"),
        which_extrapolates,
        reads_input=False,
        of_this_run=False,
    ),
    Panel(
        "loss",
        N_("Does the loss rise with length?"),
        what_it_costs,
        fields=("position_kind", "n_layers"),
        of_attention=True,
    ),
    ablation("n_layers", "n_heads", "position_kind"),
)

show_model_page(TITLE, PANELS)
