"""One stage of a block: how its values are spread, and one token through it."""

from typing import NamedTuple

import pandas as pd
import streamlit as st

from blocks.inspection import source
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Level, Look, Words, bars
from pages.figures.counting import told_apart
from pages.figures.table_rows import row_at
from pages.figures.theme import faint, plain, token_label
from pages.page.declared import Panel
from pages.page.frame import link_to_part, section
from pages.server import cached
from pages.show.chart import columns, show
from pages.show.controls import slider
from pages.show.explain import explained
from pages.show.parts import Shown
from pages.show.views import layer_choice, sinks_switch
from pages.stage import link, present
from pages.state import labelled, sinks
from pages.state.values import State
from pages.words.language import _

CONCEPTS = {
    "embedding": ("input",),
    "stream": ("block",),
    "position": ("positions",),
    "norm": ("normalization",),
    "attention": ("attention", "dropout"),
    "feed_forward": ("feed_forward", "initialization"),
    "residual": ("residual",),
}


def of_a_stage(run: Run, state: State) -> tuple[Run, int, str, bool, int, int]:
    """Layer and stage, whether sinks are apart, the pinned token, and how many features."""
    layer = labelled.selected_layer(run, state)
    stage, token = labelled.selected_stage(run, layer, state), labelled.pinned_token(run, state)
    return run, layer, stage, state.sinks_apart, token, state.n_dims


@section
def what_a_stage_does(run: Run, state: State) -> None:
    """The choice of the stage, and both pictures."""
    shown = _run, layer, name, _is_apart, _token, n_dims = of_a_stage(run, state)
    part = one_stage(run, layer, name)["part"]
    is_mixer = part == "attention" and not run.config.attends_in(layer)
    concepts = ("token_mixers", "dropout") if is_mixer else CONCEPTS[part]
    with (
        explained(concepts, source.part_source(run.config, part), key="stage"),
        st.container(horizontal=True, vertical_alignment="center"),
    ):
        stage_choice(run, layer, name)
        link_to_part(part)
    sinks_switch(run, "stage")
    left, right = columns(2)
    with left:
        show(spread, *shown[:4], facts=histogram, key="spread")
    with right:
        show(token_values, *shown, facts=one_token, key="token_values")
        most = min(128, run.config.d_model)
        if most > 1:
            with present.aside():
                slider("n_dims", _("Features shown"), min(n_dims, most), most=most)


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
    return row_at(labelled.stages(run, layer, is_apart).set_index("stage"), name)


class Values(NamedTuple):
    """Of one stage a table of values, and its own row; of one token what it reads, too."""

    table: pd.DataFrame
    stage: pd.Series
    before: str = ""
    token: str = ""


def histogram(run: Run, layer: int, name: str, is_apart: bool) -> Values:
    """Share of values per bin; `is_apart`: without the sinks."""
    table = cached.histogram(run, layer, name, sinks.set_apart(run, is_apart))
    return Values(table, one_stage(run, layer, name, is_apart))


def one_token(run: Run, layer: int, name: str, _apart: bool, token: int, n_dims: int) -> Values:
    """One token's first features at what a stage reads, and at the stage."""
    stage, table = one_stage(run, layer, name), cached.token_values(run, layer, name, token, n_dims)
    before = one_stage(run, layer, stage["reads"][0]) if stage["reads"] else stage
    return Values(table, stage, before["label"], told_apart(run.input.labels)[token])


def spread(values: Values) -> Chart:
    """Share of values per bin, with mean and mean ± std."""
    stage = values.stage
    mean, std = stage["mean"], stage["std"]
    marked = [
        ("− std", mean - std, "dot"),
        (_("mean"), mean, "solid"),
        ("+ std", mean + std, "dot"),
    ]
    return Chart(
        _("Distribution of values: {stage}").format(stage=plain(stage["label"])),
        values.table,
        Axis(_("value"), of="value"),
        Axis(_("share of values"), is_share=True),
        [bars("share", Look(color=palette.PART_COLORS[stage["part"]]))],
        hover=_("about {value}: {share} of all values").format(value="{x:.3f}", share="{y:.2%}"),
        gap=0,
        levels=[Level(x=x, dash=dash) for _text, x, dash in marked],
        words=[Words(text, x) for text, x, _dash in marked],
    )


def token_values(values: Values) -> Chart:
    """One token before and after a stage."""
    return Chart(
        _("One token, before and after: {token}").format(token=token_label(values.token)),
        values.table,
        Axis(_("feature of the token's vector"), of="dimension"),
        Axis(_("value")),
        [
            bars("before", Look(values.before, faint(palette.BEFORE, 0.7))),
            bars("after", Look(values.stage["label"], palette.PART_COLORS[values.stage["part"]])),
        ],
        hover=_("feature {feature}: {value}").format(feature="{x}", value="{y:.3f}"),
    )


PANEL = Panel(
    "stage",
    N_("What does one stage do?"),
    what_a_stage_does,
    choices=layer_choice,
    fields=("d_model", "d_ff", "activation", "norm_placement", "norm_kind"),
    at=of_a_stage,
    shows=(
        Shown(spread, "spread", facts=histogram),
        Shown(token_values, "token_values", facts=one_token),
    ),
)
