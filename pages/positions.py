"""Positions: how the order gets in."""

from blocks.faults import N_
from pages.sections.changes import what_if
from pages.sections.inputs import what_goes_in
from pages.sections.position_beyond import beyond_the_length, what_it_costs
from pages.sections.position_claims import claims_tested
from pages.sections.position_matrix import the_positions
from pages.ui import panel, words
from pages.ui.frame import close_page, open_page, recorded, subtitle
from pages.ui.panel import Panel

TITLE = N_("Positions: how word order gets in")


def main() -> None:
    """What goes in, and the questions."""
    run = open_page(TITLE, None)
    what_goes_in(run)
    recorded(run)
    subtitle(words.summary(run))
    panel.show(PANELS, run)
    close_page(TITLE)


PANELS = (
    Panel("kinds", N_("What tells a token where it stands"), the_positions),
    Panel("claims", N_("Claims, tested"), claims_tested),
    Panel("beyond", N_("Beyond the trained length"), beyond_the_length),
    Panel("loss", N_("Loss by position"), what_it_costs),
    Panel("ablation", N_("What if a part were off?"), what_if),
)

main()
