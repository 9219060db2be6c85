"""What each token takes from each token, through all layers."""

import pandas as pd
import streamlit as st

from blocks.inspection import contribution_graph as measures
from blocks.observe.run import Run
from pages.figures.theme import Picture
from pages.panels import contribution_graph_picture as pictures
from pages.ui import contribution_graph as graph
from pages.ui import link
from pages.ui.chart import show
from pages.ui.controls import slider
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.numbers import percent
from pages.ui.said import say
from pages.ui.tables import show_whole
from pages.ui.views import pin_token

ROW, MOST_ROWS = 92, 8


@section
def way_through_all_layers(run: Run, token: int) -> None:
    """The graph, the way to the pinned token, and the numbers of its last layers."""
    code = (measures.contribution_graph, measures.Parts.of, measures.linear)
    place = explained(("contribution_graph",), code, key="contribution_graph")
    if not graph.fits(run):
        st.warning(graph.too_large())
        return
    with place:
        say(graph.sentence, run, token)
    picture, numbers = st.columns([7, 3], gap="medium")
    with numbers:
        slider("least_share", _("Thinnest wire (%)"), link.value("least_share"), most=20)
        show_whole(where_it_comes_from(run, token))
    with picture:
        least = graph.least_share()
        show(draw, run, token, least, ROW, key="graph", alt=graph.alt, on_click=pin_token)
        st.caption(how_to_read(run, token))
        note(graph.note(run, token, least))


def how_to_read(run: Run, token: int) -> str:
    """Wires, dots and colour in one line."""
    text = _(
        "Wire: what a token takes from another. Dot: how much it has gathered so far. "
        "Orange: what reaches {token}. Click a token."
    )
    return text.format(token=graph.called(run, token))


def where_it_comes_from(run: Run, token: int) -> pd.DataFrame:
    """The tokens that make up most of the pinned one after the last layer."""
    origin = graph.measured(run).routes(token)[0]
    largest = origin.argsort()[::-1][:MOST_ROWS]
    return pd.DataFrame(
        {
            _("from token"): [graph.called(run, i) for i in largest],
            _("share"): [percent(origin[i]) for i in largest],
        }
    )


def draw(run: Run, token: int, least: float, row: int) -> Picture:
    """Tokens at all layers, the way to the pinned one lit."""
    found, shown = graph.measured(run), graph.shown(run, token)
    shares = pictures.Shares(
        wires=found.wires[:, shown, shown],
        routed=found.routed(token)[:, shown, shown],
        own=found.kept[:, shown],
        gathered=found.gathered()[:, shown],
        routes=found.routes(token)[:, shown],
    )
    return pictures.graph(
        shares,
        run.input.labels[shown],
        least=least,
        pinned=token - shown.start,
        first=shown.start,
        row=row,
        title=_("What each token takes from which, layer by layer"),
        _=_,
    )
