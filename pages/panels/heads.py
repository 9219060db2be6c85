"""One head, large; and all heads of a model, small."""

import streamlit as st

from blocks.observe.run import Run
from pages.figures import heads, pattern
from pages.figures.counting import told_apart
from pages.figures.theme import Picture
from pages.ui import cached, labelled, layers, words
from pages.ui.chart import show
from pages.ui.explain import note
from pages.ui.language import _
from pages.ui.views import pin_token


def one_head(run: Run, layer: int, head: int, token: int) -> None:
    """Its map, its measures, and the pinned token outlined."""
    shown = run, layer, head, token
    show(draw_one_head, *shown, key="head_map", on_click=pin_token)
    if said := words.window_note(run, token):
        note(said)
    st.markdown(words.head_measures(*shown))


def draw_one_head(run: Run, layer: int, head: int, token: int) -> Picture:
    """Who reads from whom in one head; of a long text the part around the pinned token."""
    shown = labelled.window(run, token)
    codes, weights = (cells[shown, shown] for cells in cached.head_map(run, layer, head))
    labels, first = told_apart(run.input.labels)[shown], shown.start
    return pattern.head_map(codes, weights, labels, head=head, pinned=token, first=first, _=_)


def draw_all_heads(run: Run, layer: int, head: int, token: int) -> Picture:
    """All heads of all layers, a row of tiles for each layer."""
    return heads.overview(
        layers.head_tiles(run),
        layers.labelled_tiles(run),
        columns=run.config.n_heads,
        selected=layers.tile(run, layer, head),
        pinned=labelled.row_share(run, token),
        _=_,
    )
