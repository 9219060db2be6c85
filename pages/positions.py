"""Positions: how the order gets in."""

import streamlit as st

from blocks.faults import N_
from pages.sections.changes import what_if
from pages.sections.inputs import what_goes_in
from pages.sections.position_beyond import beyond_the_length, what_it_costs
from pages.sections.position_claims import claims_tested
from pages.sections.position_matrix import the_positions
from pages.ui import words
from pages.ui.explain import contents
from pages.ui.frame import close_page, open_page, recorded
from pages.ui.language import _

TITLE = N_("Positions: how the order gets in")
CONTENTS = {
    "positions": N_("What tells a token where it stands"),
    "claims": N_("Claims, tested"),
    "beyond": N_("Beyond the trained length"),
    "costs": N_("What it costs, position by position"),
    "changes": N_("What if a part were off?"),
}


def main() -> None:
    """The story of the page, from top to bottom."""
    run = open_page(TITLE, None)
    st.caption(_("Attention knows no order. A position tells each token where it stands."))
    what_goes_in(run)
    recorded(run)
    st.caption(words.summary(run))
    contents(CONTENTS)
    the_positions(run)
    claims_tested(run)
    beyond_the_length(run)
    what_it_costs(run)
    what_if(run)
    close_page(TITLE)


main()
