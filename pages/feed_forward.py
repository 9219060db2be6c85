"""Feed-forward: what the wide layer does."""

import streamlit as st

from blocks.faults import N_
from blocks.run import Run
from pages.sections.changes import what_if
from pages.sections.experts import mixture_of_experts
from pages.sections.ff_bend import the_bend, the_gate
from pages.sections.ff_positions import each_position_alone
from pages.sections.ff_ratio import other_widths
from pages.sections.ff_units import dead_and_alive, one_unit
from pages.sections.inputs import what_goes_in
from pages.ui import labelled, words
from pages.ui.explain import contents
from pages.ui.feed_forward import controls, measured
from pages.ui.feed_forward import words as wide_words
from pages.ui.frame import close_page, open_page, recorded
from pages.ui.language import _
from pages.ui.views import layer_choice

TITLE = N_("Feed-forward: what the wide layer does")
CONTENTS = {
    "bend": N_("The activation: where the units live"),
    "units": N_("Dead and saturated units"),
    "ratio": N_("d_ff / d_model from 1 to 8"),
    "experts": N_("Mixture of experts"),
    "positions": N_("Each position alone"),
    "changes": N_("What if a part were off?"),
}


def main() -> None:
    """The story of the page, from top to bottom."""
    run = open_page(TITLE, None)
    st.caption(_("Each token passes the wide layer alone: it is widened, bent and narrowed again."))
    what_goes_in(run)
    recorded(run)
    st.caption(words.summary(run))
    layer = labelled.selected_layer(run)
    layer_choice(run, layer)
    if run.config.attention_only:
        st.info(wide_words.no_wide_layer(), icon=":material/lightbulb:")
        controls.way_to_a_wide_layer()
    else:
        contents(CONTENTS)
        the_wide_layer(run, layer)
    what_if(run)
    close_page(TITLE)


def the_wide_layer(run: Run, layer: int) -> None:
    """The layer that is looked at, and of a mixture the expert."""
    token = labelled.pinned_token(run)
    expert = measured.selected_expert(run, layer, token)
    controls.expert_choice(run, expert)
    st.caption(wide_words.shape(run))
    if measured.n_given(run, layer, expert):
        inside(run, layer, expert, token)
    else:
        st.info(wide_words.idle_expert(layer, expert), icon=":material/lightbulb:")
        controls.way_to_a_busy_expert(run, layer)
    other_widths(run, layer)
    mixture_of_experts(run, layer, expert, token)
    each_position_alone(run, layer, token)


def inside(run: Run, layer: int, expert: int, token: int) -> None:
    """What its units do."""
    the_bend(run, layer, expert)
    the_gate(run, layer, expert, token)
    dead_and_alive(run, layer, expert, token)
    one_unit(run, layer, expert, token)


main()
