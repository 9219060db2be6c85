"""Norm and residual connection: what they do to values, and what they do for depth."""

import streamlit as st

from blocks.faults import N_
from blocks.inspection.placements import possible_placements
from blocks.run import Run
from pages.sections.changes import what_if
from pages.sections.inputs import what_goes_in
from pages.sections.norm_axes import draw_axes, draw_features, draw_tokens, what_norms_see
from pages.sections.norm_depth import the_trained_layers, what_depth_does
from pages.sections.norm_placements import draw_patterns, draw_spreads, where_it_stands
from pages.sections.norm_race import who_learns
from pages.ui import labelled, words
from pages.ui.chart import drawn
from pages.ui.explain import contents
from pages.ui.export import take_away
from pages.ui.frame import close_page, open_page, recorded
from pages.ui.language import _
from pages.ui.normalization import measured, tables
from pages.ui.normalization import words as norm_words
from pages.ui.normalization.controls import shown_norm_input
from pages.ui.views import layer_choice

TITLE = N_("Norms: what they do for depth")
CONTENTS = {
    "race_story": N_("Which one learns?"),
    "norms": N_("Three norms on the same values"),
    "placements": N_("The norm in every place, with the same weights"),
    "depth_story": N_("Over depth: forward and back through a stack"),
    "changes": N_("What if a part were off?"),
}


def main() -> None:
    """The story of the page, from top to bottom."""
    run = open_page(TITLE, None)
    st.caption(_("A norm brings values to one scale; where it stands decides how deep one can go."))
    what_goes_in(run)
    recorded(run)
    st.caption(words.summary(run))
    contents(CONTENTS)
    layer = labelled.selected_layer(run)
    who_learns(run)
    layer_choice(run, layer)
    what_norms_see(run, layer)
    where_it_stands(run)
    what_depth_does(run)
    the_trained_layers(run)
    what_if(run)
    what_to_take(run, layer)
    close_page(TITLE)


def what_to_take(run: Run, layer: int) -> None:
    """Tables, pictures and configuration, to keep; depth has its table under its picture."""
    st.subheader(_("Take it with you"))
    stage, token = shown_norm_input(run, layer), labelled.pinned_token(run)
    shown = run, norm_words.shown_layer(run), labelled.selected_head(run)
    names = possible_placements(run.config)
    found = measured.compared(run, layer, stage)
    frames = {
        "norms_per_token": found.per_token,
        "norms_per_feature": found.per_feature,
        "norms_dependence": found.dependence,
        "placements": tables.all_placements(*shown),
    }
    figures = [
        drawn(draw_axes, run, token),
        drawn(draw_tokens, run, layer, stage, token),
        drawn(draw_features, run, layer, stage),
        drawn(draw_spreads, *shown, names),
        drawn(draw_patterns, *shown, names, token),
    ]
    take_away(run.config, frames, figures, words.take_away_caption(run))


main()
