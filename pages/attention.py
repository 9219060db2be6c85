"""Attention: where a token reads from, and how that number is made."""

import streamlit as st

from blocks.faults import N_
from blocks.run import Run
from pages.sections.attention_contribution import (
    draw_contribution,
    draw_sinks,
    weight_and_contribution,
)
from pages.sections.attention_kinds import how_else
from pages.sections.attention_pattern import (
    all_heads,
    draw_lines,
    draw_table,
    draw_tiles,
    lines_and_map,
)
from pages.sections.attention_scaling import draw_curves, why_divide
from pages.sections.attention_sharing import who_shares
from pages.sections.attention_steps import draw_step, draw_strip, steps_of_a_head
from pages.sections.changes import what_if
from pages.sections.heads import draw_one_head
from pages.sections.inputs import what_goes_in
from pages.ui import cached, labelled, link, words
from pages.ui.attention import controls, frames, measured, tables
from pages.ui.chart import drawn
from pages.ui.explain import contents
from pages.ui.export import take_away
from pages.ui.frame import close_page, open_page, recorded
from pages.ui.language import _

TITLE = N_("Attention: where a token reads from")
CONTENTS = {
    "filmstrip": N_("One head, step by step"),
    "scaling": N_("Why divide by √d_head"),
    "contribution": N_("Attention is not contribution"),
    "who_reads_whom": N_("Who reads whom"),
    "all_heads": N_("All layers, all heads"),
    "changes": N_("What if a part were off?"),
    "sharing": N_("Sharing keys and values"),
    "kinds": N_("Other ways to attend"),
}


def main() -> None:
    """The story of the page, from top to bottom."""
    run = open_page(TITLE, None)
    st.caption(
        _("Every head scores each pair of tokens; weights made of the scores mix the values.")
    )
    what_goes_in(run)
    recorded(run)
    st.caption(words.summary(run))
    contents(CONTENTS)
    chosen = chosen_head(run)
    controls.which_head(run, *chosen)
    steps_of_a_head(run, *chosen)
    why_divide(run, *chosen)
    weight_and_contribution(run, *chosen)
    lines_and_map(run, *chosen)
    all_heads(run, *chosen)
    what_if(run)
    who_shares(run, chosen[0])
    how_else(run, *chosen[:2])
    what_to_take(run, *chosen)
    close_page(TITLE)


def chosen_head(run: Run) -> tuple[int, int, int]:
    """Layer, head and token that the reader looks at."""
    head = labelled.selected_head(run)
    return labelled.selected_layer(run), head, labelled.pinned_token(run)


def what_to_take(run: Run, layer: int, head: int, token: int) -> None:
    """Tables, pictures and configuration, to keep."""
    st.subheader(_("Take it with you"))
    counted, step = controls.counted_head(head), frames.current_step(run)
    cell = frames.chosen_key(run, layer, head, token), step, frames.chosen_feature(run, step)
    tables_to_take = {
        "all_heads": measured.all_heads(run),
        "first_token": measured.sinks(run),
        "contribution": measured.contribution(run, layer, counted, token).keys,
        "scaling": measured.random_sharpness(run),
        "parameters": cached.parameters(run.config),
    }
    shown = run, layer, head, token
    figures = [
        drawn(draw_strip, *shown, step),
        drawn(draw_step, *shown, *cell),
        drawn(draw_curves, run, layer, head, link.value("is_scaled")),
        drawn(draw_contribution, run, layer, counted, token),
        drawn(draw_sinks, run, layer, head),
        drawn(draw_lines, *shown, link.value("edges")),
        drawn(draw_one_head, *shown),
        drawn(draw_tiles, *shown),
        drawn(draw_table, run, layer, head, tables.sort_by()),
    ]
    take_away(run.config, tables_to_take, figures, words.take_away_caption(run))


main()
