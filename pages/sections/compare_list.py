"""All that is kept: the list, and the trade-off scatter."""

import streamlit as st

from blocks.cost import pareto
from blocks.observe.run import Run
from pages.figures import trade_off
from pages.ui.chart import show
from pages.ui.compare import kept, listed, trade_offs, words
from pages.ui.compare.trade_offs import Axes, Candidate
from pages.ui.controls import switch
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _


@section
def what_one_pays(run: Run, n: int) -> None:
    """Every configuration on two axes, and the front."""
    code = (pareto.pareto_front,)
    place = explained(("pareto_front",), code, key="trade_off")
    left, right = st.columns(2)
    with left:
        listed.axis_choice("x", _("x axis"))
    with right:
        listed.axis_choice("y", _("y axis"))
    switch("with_presets", _("Published and trained models too"))
    shown = trade_offs.candidates(run), trade_offs.axes(), n
    place.info(words.front_sentence(*shown), icon=":material/lightbulb:")
    if trade_offs.points(*shown).empty:
        return
    show(draw_front, *shown, key="trade_off_dots", alt=words.front_alt, on_click=trade_offs.take)
    note(words.front_note())


def draw_front(found: tuple[Candidate, ...], axes: Axes, n: int):
    """The dots and the stairs."""
    return trade_off.scatter(
        trade_offs.points(found, axes, n),
        titles=tuple(trade_offs.title(name, n, axes.weight_format) for name in (axes.x, axes.y)),
        more_is_better=(axes.x_more, axes.y_more),
        _=_,
    )


def what_is_kept(n: int) -> None:
    """Names, which is A, what is B; files out and in."""
    place = explained(("comparing",), key="kept_list")
    if kept.all_kept():
        place.caption(words.list_note(len(kept.all_kept())))
        listed.rows(n)
        listed.keep_and_swap()
        listed.files_out(n)
    else:
        place.caption(
            _("Nothing is kept yet: “Compare” at the top of any page keeps the current setting.")
        )
    with st.expander(_("Import a saved list"), icon=":material/upload:"):
        listed.file_in()
