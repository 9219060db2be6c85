"""What the reader looks at: which stage, which head, which token, how much of it."""

from collections.abc import Sequence

import streamlit as st

from blocks import ModelConfig
from blocks.observe.run import Run
from pages.figures.counting import from_one
from pages.ui import labelled, link, terms
from pages.ui.choices import chooses
from pages.ui.controls import slide, slider
from pages.ui.language import _, enumeration
from pages.ui.ways import click_sets

LAYERS_UP_TO, HEADS_UP_TO = 12, 32  # side by side: layers in one line


pin_token = click_sets("token")  # of the cell or bar that was clicked, on the whole page


@chooses("layer")
def layer_choice(run: Run) -> None:
    """Which layer of a whole model is looked at."""
    if run.config.n_layers > 1:
        one_of_layers(range(run.config.n_layers), labelled.selected_layer(run))


@chooses("layer")
def attending_layer_choice(run: Run) -> None:
    """Which layer is looked at where attention is: one that attends."""
    if run.config.n_layers > 1 and run.config.has_attention:
        one_of_layers(run.config.attention_layers, labelled.attending_layer(run))
        if said := says_hybrid(run.config):
            st.caption(said)


def says_hybrid(config: ModelConfig) -> str:
    """Which layers attend; empty where all do, or none."""
    if not config.is_hybrid:
        return ""
    text = _("Layers that attend: {layers}. Number of layers that keep a state ({mixer}): {n}.")
    return text.format(
        layers=enumeration(str(from_one(layer)) for layer in config.attention_layers),
        n=config.n_mixer_layers,
        mixer=terms.option(config.token_mixer),
    )


def one_of_layers(layers: Sequence[int], shown: int) -> None:
    """One of several layers: side by side, or on a slider where they are many."""
    if len(layers) > LAYERS_UP_TO:
        slide("layer", _("Layer"), layers, shown, label_of=lambda layer: str(from_one(layer)))
        return
    _pills("layer", _("Layer"), layers, shown)


def head_choice(run: Run, shown: int) -> None:
    """Choose a head by keyboard, as a click on a tile does."""
    n_heads = run.config.n_heads
    if n_heads == 1:
        return
    if n_heads > HEADS_UP_TO:
        slider("head", _("Head"), shown, least=0, most=n_heads - 1, first=1)
        return
    _pills("head", _("Head"), range(n_heads), shown)


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
