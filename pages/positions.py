"""Positions: how the order gets in."""

import pages.ui.entrance  # noqa: F401

from blocks.model.faults import N_
from pages.panels.inputs import what_goes_in
from pages.panels.interventions import ablation
from pages.panels.positions.beyond import beyond_the_length
from pages.panels.positions.claims import claims_tested
from pages.panels.positions.loss import what_it_costs
from pages.panels.positions.matrix import the_positions
from pages.ui import panel, words
from pages.ui.frame import close_page, open_page, recorded, subtitle
from pages.ui.panel import Panel
from pages.ui.turns import one_at_a_time

TITLE = N_("Positions: how word order gets in")


@one_at_a_time
def main() -> None:
    """What goes in, and the questions."""
    run = open_page(TITLE, None, PANELS)
    what_goes_in(run)
    recorded(run)
    subtitle(words.summary(run))
    panel.show(PANELS, run)
    close_page(TITLE)


PANELS = (
    Panel(
        "kinds",
        N_("How does order get in?"),
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
        N_("Are the claims true?"),
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
        "loss",
        N_("What does length cost?"),
        what_it_costs,
        fields=("position_kind", "n_layers"),
        of_attention=True,
    ),
    ablation("n_layers", "n_heads", "position_kind"),
)

main()
