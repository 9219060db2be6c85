"""Masks: who may see whom, and a test whether it holds."""

import streamlit as st

from blocks.faults import N_
from blocks.run import Run
from pages.sections.changes import what_if
from pages.sections.inputs import what_goes_in
from pages.sections.leaks import does_it_hold, draw_gradient, draw_moved
from pages.sections.mask_edges import another_sequence, draw_blind, nothing_to_see
from pages.sections.mask_steps import draw_mask, draw_pattern, draw_scores, what_the_mask_does
from pages.ui import cached, labelled, words
from pages.ui.chart import drawn
from pages.ui.explain import contents
from pages.ui.export import take_away
from pages.ui.frame import close_page, open_page, recorded
from pages.ui.language import _
from pages.ui.masks import controls, measured
from pages.ui.masks import words as mask_words

TITLE = N_("Masks: who may see whom")
CONTENTS = {
    "leaks": N_("Does the mask hold?"),
    "mask_steps": N_("What the mask does"),
    "blind": N_("A query that may see no key"),
    "cross": N_("Padding of another sequence"),
    "changes": N_("What if a part were off?"),
}


def main() -> None:
    """The story of the page, from top to bottom."""
    run = open_page(TITLE, None)
    st.caption(_("A mask decides which tokens may be read. Here one can see whether it holds."))
    what_goes_in(run)
    recorded(run)
    st.caption(words.summary(run))
    contents(CONTENTS)
    layer, head = labelled.selected_layer(run), labelled.selected_head(run)
    token = labelled.pinned_token(run)
    does_it_hold(run, layer, head, token)
    what_the_mask_does(run, layer, head, token)
    nothing_to_see(run, layer, head, token)
    another_sequence(run)
    what_if(run)
    what_to_take(run, layer, head, token)
    close_page(TITLE)


def what_to_take(run: Run, layer: int, head: int, token: int) -> None:
    """Tables, pictures and configuration, to keep."""
    st.subheader(_("Take it with you"))
    query, _is_real = measured.blind_query(run, token)
    tables, figures = {"heads": cached.heads(run, layer)}, []
    if found := controls.found_so_far(run):
        tables["leaks"] = mask_words.frame(found)
        figures.append(drawn(draw_moved, found, token))
        if found.followed:
            figures.append(drawn(draw_gradient, found, token))
    figures += [
        drawn(draw_mask, run, token),
        drawn(draw_scores, run, layer, head, token),
        drawn(draw_pattern, run, layer, head, token),
        drawn(draw_blind, run, layer, head, query),
    ]
    take_away(run.config, tables, figures, words.take_away_caption(run))


main()
