"""What a model is made of: every parameter, by formula; what changes it; what is in it."""

import pages.ui.entrance  # noqa: F401

import streamlit as st

from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.panels.parameters import shared
from pages.panels.parameters.breakdown import draw_pieces, where_they_are
from pages.panels.parameters.changes import (
    change_frame,
    changes_facts,
    draw_changes,
    growth_facts,
    what_changes_it,
    where_it_goes,
)
from pages.panels.parameters.changes_picture import OVER
from pages.panels.parameters.published_models import draw_published, what_others_have, your_own_file
from pages.panels.parameters.weight_values import draw_values, how_they_are_spread, those_of_a_file
from pages.ui import link, panel
from pages.ui.chart import drawn
from pages.ui.compare import beside, changes
from pages.ui.export import take_away
from pages.ui.frame import close_page, open_counting_page
from pages.ui.panel import Panel

TITLE = N_("Parameters")


def main() -> None:
    """The model that is counted, and the questions."""
    run = open_counting_page(TITLE, PANELS)
    if beside.found():
        st.caption(
            beside.said_of_both(lambda each: shared.caption(each.config), run, changes.between)
        )
    panel.show(PANELS, run, files=what_to_take)
    close_page(TITLE)


def how_values_are_spread(run: Run) -> None:
    """Those of the model, and those of a file that is brought."""
    how_they_are_spread(run)
    those_of_a_file()


def what_to_take(run: Run) -> None:
    """Tables, pictures and configuration, to keep."""
    view, path = link.value("breakdown"), link.value("opened_piece")
    files = {
        "parameters": shared.part_frame(run.config),
        "weights_bytes": shared.size_frame(run.config),
        "changes": change_frame(changes_facts(run.config)),
        "published_models": shared.published_frame(),
    }
    if shared.is_shown(run):
        files["weight_values"] = shared.values(run).moments
        files["weight_bins"] = shared.values(run).bins
    figures = [
        drawn(draw_pieces, run, view, path),
        drawn(draw_changes, run.config, facts=changes_facts),
        *(drawn(draw, run.config, facts=growth_facts) for draw in OVER),
        drawn(draw_published, run),
        *([drawn(draw_values, run)] if shared.is_shown(run) else []),
    ]
    take_away(run.config, files, figures, shared.caption(run.config))


PANELS = (
    Panel(
        "breakdown",
        N_("Where are they?"),
        where_they_are,
        fields=("n_layers", "d_model", "n_heads", "n_kv_heads", "d_ff", "tie_embeddings"),
    ),
    Panel(
        "changes",
        N_("What changes the count?"),
        what_changes_it,
        fields=("n_layers", "d_model", "n_heads", "n_kv_heads", "d_ff", "tie_embeddings"),
    ),
    Panel(
        "growth",
        N_("What grows fastest?"),
        where_it_goes,
        fields=("n_layers", "d_model", "d_ff", "tie_embeddings"),
    ),
    Panel(
        "published",
        N_("How large are others?"),
        what_others_have,
        fields=("n_layers", "d_model", "d_ff"),
    ),
    Panel(
        "config-json",
        N_("Your config.json"),
        your_own_file,
        fields=("n_layers", "d_model", "n_heads", "n_kv_heads", "d_ff"),
    ),
    Panel(
        "values",
        N_("How are weights spread?"),
        how_values_are_spread,
        fields=("initialization", "n_layers", "seed"),
    ),
)

main()
