"""Where the parameters are: a model taken apart, piece by piece; every part with its formula."""

import streamlit as st

from blocks.cost import breakdown, parameters
from blocks.cost.breakdown import Kind
from blocks.observe.run import Run
from pages.figures import breakdown as pictures
from pages.ui import link
from pages.ui.chart import show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.parameters import controls, pieces, tables, words
from pages.ui.said import say


@section
def where_they_are(run: Run) -> None:
    """The total, the picture to click through, and the table."""
    code = (parameters.count_parameters, breakdown.by_kind)
    with explained(("parameters",), code, key="breakdown_story"):
        words.total(run.config)
    say(words.breakdown_sentence, run.config)
    view, path = link.value("breakdown"), link.value("opened_piece")
    controls.view_choice()
    controls.way_back(run, view, path)
    shown = run, view, path
    alt, click = words.breakdown_alt, controls.open_clicked
    show(draw_pieces, *shown, key="pieces", alt=alt, on_click=click)
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    with left:
        note(words.opened_sentence(run, view, path))
    with right:
        controls.open_choice(run, view, path)
    kind = path.partition("/")[0] if view == "by_kind" else ""
    tables.parts(run.config, kind if kind in list(Kind) else "")
    with st.expander(_("Memory of the weights"), icon=":material/memory:"):
        tables.sizes(run.config)
        note(_("Weights alone; int8 and int4 also need scales for groups of weights."))


def draw_pieces(run: Run, view: str, path: str):
    """Rows of pieces, from what is opened downwards."""
    levels = [[pictures.Piece(*fields) for fields in row] for row in pieces.levels(run, view, path)]
    return pictures.rows(levels, title=_("From the whole to its parts: click one"), _=_)
