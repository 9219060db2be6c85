"""Where A and B differ: parameters by kind, and FLOPs by operation."""

import streamlit as st

from pages.figures.theme import Picture
from pages.figures.units import flops
from pages.page.frame import section
from pages.panels.compare import pair_picture as pictures
from pages.panels.compare import shared
from pages.panels.compare.shared import Pair, kind
from pages.panels.cost.shared import operation
from pages.show.chart import show
from pages.show.explain import explained
from pages.state.values import State
from pages.words.language import _


@section
def where_it_goes(pair: Pair, state: State) -> None:
    """Parameters by kind and FLOPs by operation, two by two."""
    explained(("parameters", "flops"), key="where")
    shown = pair, *shared.counted_with(state)
    left, right = st.columns(2)
    with left:
        show(draw_parameters, *shown, key="pair_parameters")
    with right:
        show(draw_operations, *shown, key="pair_operations")


def draw_parameters(pair: Pair, n: int, weight_format: str) -> Picture:
    """Parameters by kind."""
    found = shared.pair_counts(pair, n, weight_format).kinds
    table = found.assign(label=found["name"].map(kind))
    title = _("Parameters by kind")
    return pictures.bars(
        table, shared.names(pair), title=title, unit=_("parameters"), said="{:,.0f}".format, _=_
    )


def draw_operations(pair: Pair, n: int, weight_format: str) -> Picture:
    """FLOPs of a token by operation."""
    found = shared.pair_counts(pair, n, weight_format).operations
    table = found.assign(label=found["name"].map(operation))
    title = _("FLOPs per token read, n = {n:,}").format(n=n)
    return pictures.bars(table, shared.names(pair), title=title, unit=_("FLOPs"), said=flops, _=_)
