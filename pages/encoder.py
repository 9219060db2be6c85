"""A whole encoder, live: its layers, all its heads, and what it expects at every token."""

import pages.ui.entrance  # noqa: F401

import streamlit as st

from blocks.inspection import predictions, source
from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.observe import flow as flow_measures
from blocks.observe import heads as head_measures
from blocks.observe.run import Run
from pages.figures import flow
from pages.figures.theme import Picture
from pages.panels.encoder import candidates_picture, shared
from pages.panels.heads import draw_all_heads, draw_one_head, one_head
from pages.panels.inputs import what_goes_in
from pages.panels.interventions import ablation
from pages.panels.parameter_table import draw_parameters, what_it_is_made_of
from pages.ui import cached, labelled, layers, panel, tables, words
from pages.ui.chart import columns, drawn, show
from pages.ui.explain import explained
from pages.ui.export import take_away
from pages.ui.frame import close_page, open_page, recorded, section, subtitle
from pages.ui.history import run_before
from pages.ui.language import _
from pages.ui.panel import Panel
from pages.ui.said import say
from pages.ui.views import head_choice, layer_choice, show_head_of_layer

TITLE = N_("A whole encoder")


def main() -> None:
    """What goes in, and the questions."""
    run = open_page(TITLE, Architecture.ENCODER, PANELS)
    what_goes_in(run)
    recorded(run)
    subtitle(words.summary(run))
    panel.show(PANELS, run, files=what_to_take)
    close_page(TITLE)


@section
def what_it_expects(run: Run) -> None:
    """What the model would write at each token, and its candidates for the pinned one."""
    token = labelled.pinned_token(run)
    with explained(("masked_words",), (predictions.candidates,), key="top"):
        say(shared.guess_sentence, run, token)
    left, right = columns([5, 6])
    with left:
        show(draw_candidates, run, token, key="candidates", alt=shared.candidates_alt)
    with right:
        shared.guesses(run)


@section
def what_passes(run: Run) -> None:
    """The stream after the embedding and after every layer."""
    code = (*source.layer_source(run.config), flow_measures.moments)
    with explained(("flow", "block", "residual"), code, key="layers"):
        say(shared.layers_sentence, run)
    left, right = columns([6, 5])
    with left:
        show(draw_layers, run, run_before(run), key="layer_bands", alt=shared.layers_alt)
    with right:
        shared.layers_table(run)


@section
def what_heads_see(run: Run) -> None:
    """All heads of all layers on one scale, and one of them large."""
    layer, head, token = chosen(run)
    code = (*source.heads_source(), head_measures.frame)
    with explained(("heads", "attention", "masks"), code, key="heads"):
        say(words.head_sentence, run, layer)
    head_choice(run, head)
    shown = run, layer, head, token
    left, right = columns(2)
    with left:
        show(draw_all_heads, *shown, key="head_tiles", on_click=show_head_of_layer)
        st.caption(words.overview_note(run))
    with right:
        one_head(*shown)
    tables.heads(run, layer)


def what_to_take(run: Run) -> None:
    """Tables, pictures and configuration, to keep."""
    layer, head, token = chosen(run)
    tables_to_take = {
        "layers": cached.whole_flow(run),
        "heads": layers.heads(run),
        "guesses": layers.guesses(run),
        "parameters": cached.parameters(run.config),
    }
    figures = [
        drawn(draw_candidates, run, token),
        drawn(draw_layers, run, run_before(run)),
        drawn(draw_all_heads, run, layer, head, token),
        drawn(draw_one_head, run, layer, head, token),
        drawn(draw_parameters, run),
    ]
    take_away(run.config, tables_to_take, figures, words.take_away_caption(run))


def chosen(run: Run) -> tuple[int, int, int]:
    """Layer, head and token that the reader looks at."""
    head = labelled.selected_head(run)
    return labelled.selected_layer(run), head, labelled.pinned_token(run)


def draw_candidates(run: Run, token: int) -> Picture:
    """The likeliest tokens at one position."""
    return candidates_picture.bars(
        layers.candidates(run, token), token=run.input.labels[token], _=_
    )


def draw_layers(run: Run, before: Run | None) -> Picture:
    """The stream after every layer, and the ghost of the setting before."""
    ghost = layers.ghost(before, run)
    return flow.bands(layers.flow(run), ghost, title=_("The residual stream after each layer"), _=_)


PANELS = (
    Panel(
        "prediction",
        N_("What does it expect?"),
        what_it_expects,
        fields=("n_layers", "d_model", "n_heads"),
    ),
    Panel(
        "layers",
        N_("What does each layer do?"),
        what_passes,
        fields=("n_layers", "d_model", "norm_placement", "norm_kind", "residual"),
    ),
    Panel(
        "heads",
        N_("What do its heads read?"),
        what_heads_see,
        layer_choice,
        fields=("n_layers", "n_heads", "position_kind"),
    ),
    ablation("n_layers", "n_heads", "residual"),
    Panel(
        "parameters",
        N_("Parameters"),
        what_it_is_made_of,
        fields=("n_layers", "d_model", "n_heads", "n_kv_heads", "d_ff", "tie_embeddings"),
    ),
)

main()
