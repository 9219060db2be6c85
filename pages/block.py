"""One Transformer block, live: what flows through it, what its heads see, what it is made of."""

import pages.ui.entrance  # noqa: F401

from collections.abc import Callable
from functools import partial

import streamlit as st

from blocks.inspection import source, tiles
from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.observe import flow as flow_measures
from blocks.observe import heads as head_measures
from blocks.observe.run import Run
from pages.figures import flow, heads
from pages.figures.theme import Picture
from pages.panels.block import strip_picture, values_picture
from pages.panels.heads import draw_one_head, one_head
from pages.panels.inputs import what_goes_in
from pages.panels.interventions import ablation
from pages.panels.parameter_table import draw_parameters, what_it_is_made_of
from pages.ui import cached, labelled, link, panel, tables, words
from pages.ui.chart import columns, drawn, show
from pages.ui.explain import explained
from pages.ui.export import take_away
from pages.ui.frame import close_page, link_to_part, open_page, recorded, section, subtitle
from pages.ui.history import run_before
from pages.ui.inputs import vector_controls
from pages.ui.language import _
from pages.ui.panel import Panel
from pages.ui.said import say
from pages.ui.views import (
    dims_choice,
    head_choice,
    layer_choice,
    open_stage,
    show_head,
    stage_choice,
)

TITLE = N_("One Transformer block")


def main() -> None:
    """What goes in, and the questions."""
    run = open_page(TITLE, Architecture.BLOCK, PANELS)
    what_goes_in(run, vector_controls)
    recorded(run)
    subtitle(words.summary_of_a_block(run))
    panel.show(PANELS, run, files=what_to_take)
    close_page(TITLE)


def of_a_layer(draw: Callable[[Run, int], None]) -> Callable[[Run], None]:
    """A panel about one layer."""
    return lambda run: draw(run, labelled.selected_layer(run))


@section
def what_flows(run: Run, layer: int) -> None:
    """The block drawn, what its values look like beside it, and one stage opened."""
    stage = labelled.selected_stage(run, layer)
    code = (*source.layer_source(run.config), flow_measures.moments)
    with explained(("block", "flow", "residual"), code, key="flow"):
        say(words.flow_sentence, run, layer)
    left, right = columns([5, 7])
    with left:
        show(draw_strip, run, layer, stage, key="strip", alt=words.strip_alt, on_click=open_stage)
    with right:
        show(draw_bands, run, layer, run_before(run), key="bands", alt=words.flow_alt)
    tables.flow(run, layer)


CONCEPTS = {
    "embedding": ("input",),
    "stream": ("block",),
    "position": ("positions",),
    "norm": ("normalization",),
    "attention": ("attention", "dropout"),
    "feed_forward": ("feed_forward", "initialization"),
    "residual": ("residual",),
}


@section
def what_a_stage_does(run: Run, layer: int) -> None:
    """The stage that is open: how its values are spread, and one token through it."""
    name = labelled.selected_stage(run, layer)
    stage = labelled.one_stage(run, layer, name)
    code = source.part_source(run.config, stage["part"])
    with (
        explained(CONCEPTS[stage["part"]], code, key="stage"),
        st.container(horizontal=True, vertical_alignment="center"),
    ):
        stage_choice(run, layer, name)
        link_to_part(stage["part"])
    left, right = columns(2)
    with left:
        show(draw_spread, run, layer, name, key="spread", alt=words.spread_alt)
    with right:
        shown = run, layer, name, labelled.pinned_token(run), link.value("n_dims")
        show(draw_token_values, *shown, key="token_values", alt=words.token_values_alt)
        dims_choice(run)


@section
def what_heads_see(run: Run, layer: int) -> None:
    """All heads on one scale, and one of them large."""
    head, token = labelled.selected_head(run), labelled.pinned_token(run)
    code = (*source.heads_source(), head_measures.frame)
    with explained(("heads", "attention", "masks"), code, key="heads"):
        say(words.head_sentence, run, layer)
    head_choice(run, head)
    left, right = columns(2)
    shown = run, layer, head, token
    with left:
        show(draw_heads, *shown, key="head_tiles", alt=words.heads_alt, on_click=show_head)
        st.caption(words.overview_note(run))
    with right:
        one_head(*shown)
    tables.heads(run, layer)


def what_to_take(run: Run) -> None:
    """Tables, pictures and configuration, to keep."""
    layer = labelled.selected_layer(run)
    stage, head, token = (
        labelled.selected_stage(run, layer),
        labelled.selected_head(run),
        labelled.pinned_token(run),
    )
    tables_to_take = {
        "flow": cached.flow(run, layer).drop(columns="reads"),
        "heads": cached.heads(run, layer),
        "parameters": cached.parameters(run.config.one_block()),
    }
    figures = [
        drawn(draw_strip, run, layer, stage),
        drawn(draw_bands, run, layer, run_before(run)),
        drawn(draw_spread, run, layer, stage),
        drawn(draw_token_values, run, layer, stage, token, link.value("n_dims")),
        drawn(draw_heads, run, layer, head, token),
        drawn(draw_one_head, run, layer, head, token),
        drawn(draw_parameters, run, True),
    ]
    take_away(run.config, tables_to_take, figures, words.take_away_caption_of_a_block(run))


def draw_strip(run: Run, layer: int, stage: str) -> Picture:
    """The block, as it ran."""
    return strip_picture.block_strip(labelled.stages(run, layer), selected=stage, _=_)


def draw_bands(run: Run, layer: int, before: Run | None) -> Picture:
    """The values at each stage, and the ghost of the setting before."""
    is_comparable = before is not None and layer < before.config.n_layers
    ghost = cached.flow(before, layer) if is_comparable else None
    return flow.bands(labelled.stages(run, layer), ghost, _=_)


def draw_spread(run: Run, layer: int, name: str) -> Picture:
    """How the values of a stage are spread."""
    return values_picture.spread(
        cached.histogram(run, layer, name), labelled.one_stage(run, layer, name), _=_
    )


def draw_token_values(run: Run, layer: int, name: str, token: int, n_dims: int) -> Picture:
    """One token before and after a stage."""
    return values_picture.before_after(
        cached.token_values(run, layer, name, token, n_dims),
        part=labelled.one_stage(run, layer, name)["part"],
        token=run.input.labels[token],
        names=labelled.before_and_after(run, layer, name),
        _=_,
    )


def draw_heads(run: Run, layer: int, head: int, token: int) -> Picture:
    """All heads, small."""
    return heads.overview(
        cached.head_tiles(run, layer),
        labelled.heads(run, layer),
        columns=tiles.columns(run.config.n_heads),
        selected=head,
        pinned=labelled.row_share(run, token),
        _=_,
    )


PANELS = (
    Panel(
        "flow",
        N_("What flows through it?"),
        of_a_layer(what_flows),
        layer_choice,
        fields=("d_model", "n_heads", "d_ff", "norm_placement", "norm_kind"),
    ),
    Panel(
        "stage",
        N_("What does one stage do?"),
        of_a_layer(what_a_stage_does),
        layer_choice,
        fields=("d_model", "d_ff", "activation", "norm_placement", "norm_kind"),
    ),
    Panel(
        "heads",
        N_("What do its heads read?"),
        of_a_layer(what_heads_see),
        layer_choice,
        fields=("n_heads", "n_kv_heads", "d_model", "position_kind"),
    ),
    ablation("n_heads", "norm_placement", "residual"),
    Panel(
        "parameters",
        N_("Parameters"),
        partial(what_it_is_made_of, of_one_block=True),
        fields=("d_model", "n_heads", "n_kv_heads", "d_ff", "activation"),
    ),
)

main()
