"""The positions themselves: their table, one pair of it, all wavelengths, how alike they are."""

import streamlit as st

from blocks.inspection import position_tables, source
from blocks.model.kinds import PositionKind
from blocks.observe.run import Run
from pages.figures import position_curves, position_matrix
from pages.figures.position_curves import Axes
from pages.figures.position_matrix import Names
from pages.ui import terms
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.positions import chosen, measured, words
from pages.ui.positions.controls import (
    choose_pair,
    kind_choice,
    length_choice,
    pair_choice,
    pin_and_choose,
    refusal,
    run_with_it,
)
from pages.ui.said import say


@section
def the_positions(run: Run) -> None:
    """One kind, looked at from four sides."""
    kind = chosen.kind(run)
    code = (*source.positions_source(kind), position_tables.similarity)
    place = explained(("positions",), code, key="positions")
    left, right = st.columns([7, 4])
    with left:
        kind_choice(run)
    with right:
        length_choice()
    run_with_it(run)
    if refusal(run):
        return
    n = chosen.n_positions(run)
    with place:
        say(words.kind_sentence, run, kind, n)
    if kind is not PositionKind.NONE:
        _four_sides(run, kind, n)


def _four_sides(run: Run, kind: PositionKind, n: int) -> None:
    position, pair = chosen.position(run), chosen.pair(run)
    left, right = columns([6, 5])
    with left:
        shown = run, kind, n, position, pair
        show(draw_table, *shown, key="position_table", alt=words.table_alt, on_click=pin_and_choose)
        note(words.table_note(run, kind, n))
    with right:
        pair_choice(run)
        shown = run, kind, n, pair, position
        show(draw_pair, *shown, key="position_curves", alt=words.pair_alt)
        st.markdown(words.pair_sentence(*shown))
    left, right = st.columns(2)
    with left:
        _scale(run, kind, n, pair)
    with right:
        _likeness(run, kind, n, pair, position)


def _scale(run: Run, kind: PositionKind, n: int, pair: int) -> None:
    """All speeds at once; of a learned table, the waves that it is made of."""
    is_learned = kind is PositionKind.LEARNED
    show(
        draw_spectrum if is_learned else draw_scale,
        *(run, kind, n, pair),
        key="wavelengths",
        alt=words.scale_alt,
        on_click=None if is_learned else choose_pair,
    )
    st.markdown(words.scale_sentence(run, kind, n))


def _likeness(run: Run, kind: PositionKind, n: int, pair: int, position: int) -> None:
    """How alike two positions are: by distance, and every two where they have vectors."""
    show(draw_likeness, run, kind, n, pair, key="likeness", alt=words.similarity_alt)
    st.markdown(words.likeness_sentence(run, kind, n, pair))
    if kind.is_added:
        shown = run, kind, n, position
        with st.expander(_("Every two positions"), key="every_two"):
            show(draw_similarity, *shown, key="similarity", alt=words.similarity_alt)


def draw_table(run: Run, kind: PositionKind, n: int, position: int, pair: int):
    """The table of a kind."""
    found = measured.table(run, kind, n, position)
    return position_matrix.table(
        found.values,
        found.columns,
        _table_names(kind, position),
        most=measured.most(run, kind, n, position),
        pinned=position,
        chosen=measured.columns_of(kind, pair),
        tokens=run.input.labels,
        _=_,
    )


def _table_names(kind: PositionKind, position: int) -> Names:
    rows = _("position")
    match kind:
        case PositionKind.ROPE:
            return Names(_("Cosine of each pair's angle"), rows, _("pair"), _("cosine"))
        case PositionKind.ALIBI:
            title = _("Bias added to the scores of query {position}").format(position=position)
            return Names(title, _("key at position"), _("head"), _("bias"))
        case _:
            title = _("Added to the embedding, {kind}").format(kind=terms.option(kind))
            is_waves = kind is PositionKind.SINUSOIDAL
            features = _("feature: sines (even), then cosines (odd)")
            return Names(title, rows, features if is_waves else _("feature"), _("value"))


def draw_pair(run: Run, kind: PositionKind, n: int, pair: int, position: int):
    """One pair over the positions."""
    names = (_("sine"), _("cosine"))
    title = _("Pair {pair} over the positions").format(pair=pair)
    y = _("value")
    if kind is PositionKind.LEARNED:
        columns = measured.columns_of(kind, pair)
        names = tuple(_("feature {i}").format(i=column) for column in columns)
    if kind is PositionKind.ALIBI:
        names = (_("head {head}").format(head=pair),)
        title = _("Bias of head {head} on each key").format(head=pair)
        y = _("bias")
    axes = Axes(title, _("position"), y)
    curves = measured.pair_curves(run, kind, n, pair, position)
    return position_curves.pair(curves, names, axes, pinned=position, _=_)


def draw_scale(run: Run, kind: PositionKind, n: int, pair: int):
    """Wavelength of every pair, or half distance of every head."""
    if kind is PositionKind.ALIBI:
        found = measured.half_distances(run)
        table = found.rename(columns={"head": "number", "half_distance": "length"})
        axes = Axes(_("How far each head attends"), _("head"), _("tokens until a weight halves"))
    else:
        found = measured.wavelengths(run, kind)
        table = found.rename(columns={"pair": "number", "wavelength": "length"})
        axes = Axes(_("Wavelength of each pair"), _("pair"), _("positions per turn"))
    name = _("{n} positions shown").format(n=n)
    return position_curves.scale(table, axes, chosen=pair, length=n, length_name=name, _=_)


def draw_spectrum(run: Run, _kind: PositionKind, n: int, _pair: int):
    """Of which waves the learned table is made."""
    axes = Axes(
        _("Waves in the learned table"), _("wavelength in positions"), _("share of variance")
    )
    even = _("dashed: noise")
    return position_curves.spectrum(measured.spectrum(run, n), axes, even_name=even, _=_)


def draw_likeness(run: Run, kind: PositionKind, n: int, pair: int):
    """Likeness, score or bias by distance."""
    x = _("distance in positions")
    if kind is PositionKind.ALIBI:
        slopes = tuple(measured.half_distances(run)["slope"])
        axes = Axes(_("Bias against distance, every head"), x, _("bias"))
        name = _("head {head}").format(head=pair)
        return position_curves.biases(slopes, axes, n=n, chosen=pair, name=name, _=_)
    if kind is PositionKind.ROPE:
        table = measured.rope_similarity(run, n)
        axes = Axes(_("Dot product of a vector with itself, rotated"), x, _("share of the score"))
        names = {"mean_name": _("mean of 256 vectors"), "band_name": _("± std")}
        return position_curves.likeness(table, axes, **names, _=_)
    table = measured.similarity_by_distance(run, kind, n)
    axes = Axes(_("Similarity of two positions against distance"), x, _("cosine"))
    names = {"mean_name": _("mean"), "band_name": _("least to largest")}
    return position_curves.likeness(table, axes, **names, _=_)


def draw_similarity(run: Run, kind: PositionKind, n: int, position: int):
    """Cosine of every two positions."""
    names = Names(_("Similarity of every two positions"), _("position"), _("position"), _("cosine"))
    return position_matrix.square(measured.similarity(run, kind, n), names, pinned=position, _=_)
