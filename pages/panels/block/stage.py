"""One stage of a block: how its values are spread, and one token through it."""

import pandas as pd
import streamlit as st

from blocks.inspection import source
from blocks.observe.run import Run
from pages.figures.counting import told_apart
from pages.figures.table_rows import row_at
from pages.figures.theme import Picture
from pages.panels.block import stage_picture
from pages.ui import cached, labelled, link, sinks
from pages.ui.chart import columns, show
from pages.ui.controls import slider
from pages.ui.explain import explained
from pages.ui.frame import link_to_part, section
from pages.ui.language import _

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
def what_a_stage_does(run: Run) -> None:
    """The choice of the stage, and both pictures."""
    layer = labelled.selected_layer(run)
    name = labelled.selected_stage(run, layer)
    part = one_stage(run, layer, name)["part"]
    is_mixer = part == "attention" and not run.config.attends_in(layer)
    concepts = ("token_mixers", "dropout") if is_mixer else CONCEPTS[part]
    with (
        explained(concepts, source.part_source(run.config, part), key="stage"),
        st.container(horizontal=True, vertical_alignment="center"),
    ):
        stage_choice(run, layer, name)
        link_to_part(part)
    sinks.sinks_switch(run, "stage")
    left, right = columns(2)
    with left:
        show(draw_spread, run, layer, name, sinks.is_wanted(), key="spread")
    with right:
        shown = run, layer, name, labelled.pinned_token(run), link.value("n_dims")
        show(draw_token_values, *shown, key="token_values")
        most = min(128, run.config.d_model)
        if most > 1:
            slider("n_dims", _("Features shown"), min(link.value("n_dims"), most), most=most)


def stage_choice(run: Run, layer: int, shown: str) -> None:
    """Choose a stage by keyboard, as a click on the drawing does."""
    stages = labelled.stages(run, layer)
    labels = dict(zip(stages["stage"], stages["label"], strict=True))
    with st.container(key="stage"):
        st.pills(
            _("Stage"),
            list(labels),
            format_func=lambda name: labels.get(name, name),
            required=True,
            wrap=True,
            label_visibility="collapsed",
            **link.view("stage", shown, tuple(labels)),
        )


def one_stage(run: Run, layer: int, name: str, is_apart: bool = False) -> pd.Series:
    """The row of one stage."""
    return row_at(labelled.stages(run, layer, is_apart).set_index("stage"), name)


def draw_spread(run: Run, layer: int, name: str, is_apart: bool) -> Picture:
    """How the values of a stage are spread; `is_apart`: without the sinks."""
    histogram = cached.histogram(run, layer, name, sinks.set_apart(run, is_apart))
    return stage_picture.spread(histogram, one_stage(run, layer, name, is_apart), _=_)


def draw_token_values(run: Run, layer: int, name: str, token: int, n_dims: int) -> Picture:
    """One token at what a stage reads, and at the stage."""
    stage = one_stage(run, layer, name)
    before = one_stage(run, layer, stage["reads"][0]) if stage["reads"] else stage
    return stage_picture.before_after(
        cached.token_values(run, layer, name, token, n_dims),
        part=stage["part"],
        token=told_apart(run.input.labels)[token],
        names=(before["label"], stage["label"]),
        _=_,
    )
