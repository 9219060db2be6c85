"""A small Transformer learns while one watches: its task, its curves, its attention."""

import pages.page.entrance  # noqa: F401

from collections.abc import Sequence
from contextlib import nullcontext

import streamlit as st

from blocks.model.faults import N_
from blocks.training.training_run import TrainingRun
from pages.page import panel
from pages.page.frame import live_section, show_page, with_settings
from pages.page.panel import Panel
from pages.panels.training import shared
from pages.panels.training.heads import how_heads_come_to_be
from pages.panels.training.links import how_links_come_to_be
from pages.panels.training.model import what_it_became
from pages.panels.training.setup import how_it_is_learned, start_row, what_is_learned
from pages.panels.training.staircase import what_each_step_brings
from pages.panels.training.sweep import what_varies, which_setting_is_best
from pages.panels.training.verdict import what_a_change_brings, what_changes
from pages.panels.training.watch import curves_panel, run_state, samples_panel
from pages.server import starts
from pages.server.runs import find, runs
from pages.show.choices import chooses
from pages.show.everything import is_all
from pages.show.mixers import no_attention
from pages.stage import present
from pages.state.values import State
from pages.words.language import _

TITLE = N_("Train one yourself")
EVERY = 3.0  # seconds


def body(state: State) -> None:
    """What is set; or a run, what becomes of it, and the settings of the next one."""
    with_settings(lambda: shared.model_controls(state))
    run = shared.watched(state)
    shared.forgotten_note(run, state)
    if run is None:
        with present.aside():
            start_row(state)
        panel.show(SETTINGS, None)
    else:
        with present.aside():
            shared.run_choice(state)
        with present.aside() if not run.state.is_active else nullcontext():
            run_state(run)
        if not (run.state.is_active or is_all() or panel.opened(PANELS) in SETTINGS):
            with present.aside():
                start_row(state)  # the next one; elsewhere it stands with its settings
        panel.show(in_order(run), run)
    runs().warm(state.device)


def in_order(run: TrainingRun) -> Sequence[Panel]:
    """All panels: while it runs the curves first; once it has ended, what it writes."""
    if not run.state.has_ended:
        return PANELS
    return sorted(PANELS, key=lambda each: each.name != "samples")


@chooses()
def to_set(run: TrainingRun | None, state: State) -> None:
    if run is not None:
        start_row(state)


def attention(run: TrainingRun) -> None:
    live_section(attention_so_far, run.id, every=EVERY if run.state.is_active else None)


def attention_so_far(run_id: str, state: State) -> None:
    """Of pairs, where the decoder looks; of one text, what each head does."""
    if (run := kept(run_id)) is None:
        return
    if not run.spec.config.has_attention:
        no_attention(run.spec.config, "heads")
        return
    draw = how_links_come_to_be if shared.is_of_pairs(run) else how_heads_come_to_be
    draw(run, state)


def model(run: TrainingRun) -> None:
    """The weights along the way, to be opened elsewhere and taken away."""
    live_section(model_so_far, run.id, every=EVERY if run.state.is_active else None)


def model_so_far(run_id: str, state: State) -> None:
    if (run := kept(run_id)) is not None:
        what_it_became(run, state)


def kept(run_id: str) -> TrainingRun | None:
    """A run with weights that can be looked at; says so where there are none yet."""
    run = find(run_id)
    if run is None or not run.snapshots.steps:
        st.caption(_("The first results will appear here in a moment."))
        return None
    return run


WATCHED = (
    Panel("learning", N_("Is it learning?"), curves_panel),
    Panel("attention", N_("How attention emerges"), attention),
    Panel("samples", N_("What it writes"), samples_panel),
    Panel("model", N_("The trained model"), model),
)
SETTINGS = (
    Panel("task", N_("What it learns"), lambda _run, state: what_is_learned(state), to_set),
    Panel("recipe", N_("How it learns"), lambda _run, state: how_it_is_learned(state), to_set),
    Panel(
        "sweep",
        N_("Which setting is best?"),
        lambda _run, state: which_setting_is_best(state),
        what_varies,
    ),
    Panel(
        "verdict",
        N_("What does a change gain at equal cost?"),
        lambda _run, state: what_a_change_brings(state),
        what_changes,
    ),
    Panel("staircase", N_("From a bigram to a GPT"), lambda _run: what_each_step_brings(), to_set),
)
PANELS = (*WATCHED, *SETTINGS)

show_page(TITLE, body, first_shown=starts.FAST)
