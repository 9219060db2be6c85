"""What the reader looks at: which stage, which head, which token, how much of it."""

from typing import Any

import streamlit as st

from blocks.observe.run import Run
from pages.figures.counting import from_one
from pages.ui import labelled, link
from pages.ui.controls import slider
from pages.ui.language import _

PILLS_UP_TO = 32


def pin_token(customdata: list[Any]) -> None:
    """A cell of the large map was clicked: its query is pinned, on the whole page."""
    link.change("token", int(customdata[0]))
    link.redraw_everything()


def layer_choice(run: Run) -> None:
    """Which layer of a whole model is looked at."""
    if run.config.n_layers > 1:
        one_of_layers(run.config.n_layers, labelled.selected_layer(run))


def one_of_layers(n_layers: int, shown: int) -> None:
    """One of several layers: side by side, or on a slider where they are many."""
    if n_layers > PILLS_UP_TO:
        slider("layer", _("Layer"), shown, least=0, most=n_layers - 1, first=1)
        return
    with st.container(key="layer"):
        st.pills(
            _("Layer"),
            list(range(n_layers)),
            format_func=lambda layer: str(from_one(layer)),
            required=True,
            wrap=True,
            **link.view("layer", shown, n_layers),
        )


def head_choice(run: Run, shown: int) -> None:
    """Choose a head by keyboard, as a click on a tile does."""
    n_heads = run.config.n_heads
    if n_heads == 1:
        return
    if n_heads > PILLS_UP_TO:
        slider("head", _("Head"), shown, least=0, most=n_heads - 1, first=1)
        return
    with st.container(key="head"):
        st.pills(
            _("Head"),
            list(range(n_heads)),
            format_func=lambda head: str(from_one(head)),
            required=True,
            wrap=True,
            **link.view("head", shown, n_heads),
        )
