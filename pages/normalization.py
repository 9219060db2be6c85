"""Norm and residual connection: what they do to values, and what they do for depth."""

import streamlit as st

from blocks.faults import N_
from pages.sections.inputs import what_goes_in
from pages.sections.norm_axes import what_norms_see
from pages.sections.norm_depth import the_trained_layers, what_depth_does
from pages.sections.norm_placements import where_it_stands
from pages.ui import labelled, words
from pages.ui.frame import close_page, open_page, recorded
from pages.ui.language import _
from pages.ui.views import layer_choice

TITLE = N_("Norms: what they do for depth")


def main() -> None:
    """The story of the page, from top to bottom."""
    run = open_page(TITLE, None)
    st.caption(_("A norm brings values to one scale; where it stands decides how deep one can go."))
    what_goes_in(run)
    recorded(run)
    st.caption(words.summary(run))
    layer = labelled.selected_layer(run)
    layer_choice(run, layer)
    what_norms_see(run, layer)
    where_it_stands(run)
    what_depth_does(run)
    the_trained_layers(run)
    close_page(TITLE)


main()
