"""What the reader looks at: which stage, which head, which token, how much of it."""

from collections.abc import Sequence

import streamlit as st

from blocks import ModelConfig
from blocks.observe.run import Run
from pages.figures.counting import from_one
from pages.server import probed
from pages.show.choices import chooses
from pages.show.controls import slide
from pages.show.ways import click_sets
from pages.stage import link
from pages.state import labelled, sinks
from pages.words import terms
from pages.words.language import _, current_language, enumeration

HEADS_UP_TO = 8  # side by side, in one line


pin_token = click_sets("token")  # of the cell or bar that was clicked, on the whole page


@chooses("layer")
def layer_choice(run: Run) -> None:
    if run.config.n_layers > 1:
        one_of_layers(range(run.config.n_layers), labelled.selected_layer(run, link.now()))


@chooses("layer")
def attending_layer_choice(run: Run) -> None:
    """Which layer is looked at where attention is: one that attends."""
    if run.config.n_layers > 1 and run.config.has_attention:
        one_of_layers(run.config.attention_layers, labelled.attending_layer(run, link.now()))
        if said := says_hybrid(run.config):
            st.caption(said)


def says_hybrid(config: ModelConfig) -> str:
    """Which layers attend; empty where all do, or none."""
    if not config.is_hybrid:
        return ""
    text = _("Layers with attention: {layers}. The others, {n} in all, keep a state ({mixer}).")
    return text.format(
        layers=enumeration(str(from_one(layer)) for layer in config.attention_layers),
        n=config.n_mixer_layers,
        mixer=terms.option(config.token_mixer),
    )


def one_of_layers(layers: Sequence[int], shown: int) -> None:
    """One of several layers: side by side, or on a slider where they are many."""
    if len(layers) > labelled.FEW_LAYERS:
        slide("layer", _("Layer"), layers, shown, label_of=lambda layer: str(from_one(layer)))
        return
    _pills("layer", _("Layer"), layers, shown)


def head_choice(run: Run, shown: int, layer: int | None = None) -> None:
    """Choose a head by keyboard, as a click on a tile does; of a layer each bears its name."""
    n_heads = run.config.n_heads
    if n_heads == 1:
        return
    if n_heads <= HEADS_UP_TO:
        _pills("head", _("Head"), range(n_heads), shown)
        return
    names = ["" if layer is None else probed.badge(run, layer, i) for i in range(n_heads)]
    labels = [
        f"{from_one(i)} · {name}" if name else str(from_one(i)) for i, name in enumerate(names)
    ]
    with st.container(key="head"):
        view = link.view("head", shown, (n_heads, current_language()))
        st.selectbox(_("Head"), range(n_heads), format_func=labels.__getitem__, **view)


def _pills(name: str, label: str, numbers: Sequence[int], shown: int) -> None:
    with st.container(key=name):
        st.pills(
            label,
            list(numbers),
            format_func=lambda number: str(from_one(number)),
            required=True,
            wrap=True,
            **link.view(name, shown, tuple(numbers)),
        )


def sinks_switch(run: Run, place: str) -> None:
    """The switch and what it does, where this run has sinks; `place`: the panel."""
    is_apart, key = link.value("sinks_apart"), f"sinks_apart_{place}"
    if sinks.set_apart(run, True):
        with st.container(horizontal=True, vertical_alignment="center", key=key):
            st.toggle(_("Set sinks apart"), **link.view("sinks_apart", is_apart, (place,)))
            st.caption(sinks.says_apart(run, is_apart), width="stretch")
