"""A small Transformer learns while one watches: its task, its curves, its attention."""

import pages.ui.entrance  # noqa: F401

import streamlit as st

from blocks.model.faults import N_
from blocks.training.training_run import TrainingRun
from pages.panels.training import shared
from pages.panels.training.heads import how_heads_come_to_be
from pages.panels.training.links import how_links_come_to_be
from pages.panels.training.model import what_it_became
from pages.panels.training.setup import set_up
from pages.panels.training.shared import forgotten_note, model_controls, run_choice
from pages.panels.training.watch import what_it_is_learning
from pages.ui import starts
from pages.ui.frame import close_page, draw_frame, live_section
from pages.ui.language import _
from pages.ui.runs import find

TITLE = N_("Train one yourself")
EVERY = 3.0  # seconds


def main() -> None:
    """The story of the page, from top to bottom."""
    draw_frame(TITLE, starts.FAST, model_controls)
    st.caption(_("Choose a task, press Start training, and watch a real Transformer learn it."))
    run = shared.watched()
    forgotten_note(run)
    if run is None:
        set_up()
    else:
        what_was_started(run)
    close_page(TITLE)


def what_was_started(run: TrainingRun) -> None:
    """A run and what becomes of it; the settings of the next one, folded."""
    with st.expander(_("Set up another training"), icon=":material/tune:", key="setup"):
        set_up()
    run_choice()
    what_it_is_learning(run)
    live_section(what_is_kept, run.id, every=EVERY if run.state.is_active else None)


def what_is_kept(run_id: str) -> None:
    """Weights along the way: what attention they make, and where to take them."""
    run = find(run_id)
    if run is None or not run.snapshots.steps:
        st.caption(_("The first weights will be saved in a moment."))
        return
    of_pairs = shared.is_of_pairs(run)
    step = how_links_come_to_be(run) if of_pairs else how_heads_come_to_be(run)
    what_it_became(run, step)


main()
