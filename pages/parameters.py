"""What a model is made of: every parameter, by formula; what changes it; what is in it."""

import streamlit as st

from blocks.faults import N_
from blocks.run import Run
from pages.sections.parameter_breakdown import draw_pieces, where_they_are
from pages.sections.parameter_changes import (
    draw_changes,
    draw_growth,
    what_changes_it,
    where_it_goes,
)
from pages.sections.published_models import draw_published, what_others_have, your_own_file
from pages.sections.weight_values import draw_values, how_they_are_spread, those_of_a_file
from pages.ui import link
from pages.ui.chart import drawn
from pages.ui.compare import beside, changes
from pages.ui.explain import contents
from pages.ui.export import take_away
from pages.ui.frame import close_page, open_counting_page
from pages.ui.language import _
from pages.ui.parameters import measured, tables, words

TITLE = N_("Parameters")
CONTENTS = {
    "breakdown_story": N_("Where the parameters are"),
    "changes_story": N_("What changes the number"),
    "growth_story": N_("Where the size goes"),
    "published_story": N_("Published models"),
    "config_file_story": N_("Your config.json"),
    "values_story": N_("The values: how weights are spread"),
}


def main() -> None:
    """The story of the page, from top to bottom."""
    run = open_counting_page(TITLE)
    st.caption(_("Every parameter by formula, exact at any size; nothing is built to count it."))
    if beside.found():
        st.caption(
            beside.said_of_both(lambda each: words.caption(each.config), run, changes.between)
        )
    contents(CONTENTS)
    where_they_are(run)
    what_changes_it(run)
    where_it_goes(run)
    what_others_have(run)
    your_own_file(run)
    how_they_are_spread(run)
    those_of_a_file()
    what_to_take(run)
    close_page(TITLE)


def what_to_take(run: Run) -> None:
    """Tables, pictures and configuration, to keep."""
    st.subheader(_("Take it with you"))
    view, path = link.value("breakdown"), link.value("opened_piece")
    files = {
        "parameters": tables.part_frame(run.config),
        "weights_bytes": tables.size_frame(run.config),
        "changes": tables.change_frame(run.config),
        "published_models": tables.published_frame(),
    }
    if measured.is_shown(run):
        files["weight_values"] = measured.values(run).moments
        files["weight_bins"] = measured.values(run).bins
    figures = [
        drawn(draw_pieces, run, view, path),
        drawn(draw_changes, run),
        drawn(draw_growth, run, "d_model"),
        drawn(draw_growth, run, "n_layers"),
        drawn(draw_published, run),
        *([drawn(draw_values, run)] if measured.is_shown(run) else []),
    ]
    take_away(run.config, files, figures, words.caption(run.config))


main()
