"""What is looked at in the runs of both: the same layer, head and stage."""

from collections.abc import Callable

import streamlit as st

from blocks.inspection import tiles
from blocks.observe.run import Run
from pages.ui import link
from pages.ui.compare import measured, run_words, sides
from pages.ui.compare.fields import COMPARED_MOMENTS
from pages.ui.compare.sides import Pair
from pages.ui.controls import pick
from pages.ui.language import _
from pages.ui.views import head_choice as head_of_a_run
from pages.ui.views import one_of_layers


def flow_controls(pair: Pair) -> None:
    """Which stage is followed, and by which number."""
    stage, moment = flow_shown(pair)
    label = _("Follow over the layers")
    left, right = st.columns(2)
    with left:
        options = measured.stages(pair)
        pick("compared_stage", label, options, label_of=run_words.stage, shown=stage)
    with right:
        label = _("Statistic")
        pick("compared_moment", label, COMPARED_MOMENTS, label_of=run_words.moment, shown=moment)


def flow_shown(pair: Pair) -> tuple[str, str]:
    """The stage, where both have it, and the number."""
    wanted, known = link.value("compared_stage"), measured.stages(pair)
    return wanted if wanted in known else known[0], link.value("compared_moment")


def layer_choice(pair: Pair) -> None:
    """One of the layers that both have."""
    if pair.n_layers > 1:
        one_of_layers(pair.n_layers, sides.layer(pair))


def head_choice(pair: Pair) -> None:
    """One of the heads that both have."""
    fewest = min(pair.both, key=lambda run: run.config.n_heads)
    head_of_a_run(fewest, sides.head(pair))


def open_layer(pair: Pair) -> Callable[[list], None]:
    """A layer on the lines was clicked."""

    def opened(customdata: list) -> None:
        link.change("layer", max(0, min(int(customdata[0]), pair.n_layers) - 1))

    return opened


def open_head(pair: Pair) -> Callable[[list], None]:
    """A tile was clicked; a head that the other has not stays closed."""

    def opened(customdata: list) -> None:
        if int(customdata[0]) < pair.n_heads:
            link.change("head", int(customdata[0]))

    return opened


def open_distance(customdata: list) -> None:
    """A cell of layer and head was clicked."""
    link.change("layer", int(customdata[0]))
    link.change("head", int(customdata[1]))


def tile_columns(run: Run) -> int:
    """How many tiles stand side by side."""
    return tiles.columns(run.config.n_heads)


def layer_names(pair: Pair) -> list[str]:
    """Layers count from 1."""
    return [str(layer + 1) for layer in range(pair.n_layers)]


def head_names(n_heads: int) -> list[str]:
    """Heads count from 0."""
    return [str(head) for head in range(n_heads)]
