"""What is said of positions, tested on this run."""

import streamlit as st

from blocks.inspection import position_claims
from blocks.model.kinds import PositionKind
from blocks.observe.run import Run
from pages.figures import claims, position_matrix
from pages.figures.position_matrix import Names
from pages.ui import labelled
from pages.ui.chart import columns, show
from pages.ui.explain import explained
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.positions import chosen, claim_words, measured
from pages.ui.positions.claim_words import Kinds
from pages.ui.positions.controls import KINDS, choose_kind, shift_choice
from pages.ui.steps import in_steps


@section
def claims_tested(run: Run) -> None:
    """Every claim for every kind, those of the one looked at in words, and two of them drawn."""
    code = (
        position_claims.unique,
        position_claims.shift_matrix,
        position_claims.linear_shift,
        position_claims.distance_only,
        position_claims.permutation,
    )
    place = explained(("position_claims",), code, key="claims")
    asked = chosen.n_asked(), chosen.shift(run), labelled.pinned_token(run)
    order = chosen.order(run)
    steps = [_step(run, kind, *asked) for kind in order]
    n_done = len(in_steps(steps, what=(run, *asked, order), key="claims_steps").found)
    if not n_done:
        return
    measured_claims = run, *asked, tuple(kind for kind in KINDS if kind in order[:n_done])
    place.info(claim_words.grid_sentence(*measured_claims), icon=":material/lightbulb:")
    shown = KINDS.index(chosen.kind(run))
    shift_choice(run)
    show(
        draw_verdicts,
        *measured_claims,
        shown,
        key="claim_grid",
        alt=claim_words.grid_alt,
        on_click=choose_kind,
    )
    if chosen.fits(run):
        claim_words.sentences(run, chosen.kind(run), *asked)
    _drawn(run, measured_claims)


def _step(run: Run, kind: PositionKind, n: int, shift: int, token: int):
    return lambda: claim_words.measured_here(run, kind, n, shift, token)


def _drawn(run: Run, measured_claims: tuple) -> None:
    """Permuted tokens, and the matrix that moves positions on."""
    left, right = columns(2)
    with left:
        if claim_words.moved(*measured_claims).empty:
            st.info(claim_words.moved_sentence(*measured_claims))
        else:
            show(draw_moved, *measured_claims, key="moved", alt=claim_words.moved_alt)
            st.markdown(claim_words.moved_sentence(*measured_claims))
    with right:
        kind, n, shift = chosen.kind(run), chosen.n_positions(run), chosen.shift(run)
        has_one = chosen.fits(run) and measured.shift_matrix(run, kind, n, shift) is not None
        if has_one:
            shown = run, kind, n, shift
            show(draw_matrix, *shown, key="shift_matrix", alt=claim_words.matrix_alt)
        if chosen.fits(run):
            st.markdown(claim_words.matrix_sentence(run, kind, n, shift))


def draw_verdicts(run: Run, n: int, shift: int, token: int, kinds: Kinds, shown: int):
    """Claims down, kinds across."""
    return claims.verdicts(
        claim_words.grid(run, n, shift, token, kinds),
        claim_words.claim_names(),
        claim_words.kind_names(),
        shown=shown,
        _=_,
    )


def draw_moved(run: Run, n: int, shift: int, token: int, kinds: Kinds):
    """What permuted tokens change."""
    table = claim_words.moved(run, n, shift, token, kinds)
    return claims.moved(table, limit=position_claims.OUTPUT_ERROR, _=_)


def draw_matrix(run: Run, kind: PositionKind, n: int, shift: int):
    """The matrix that moves positions on."""
    found = measured.shift_matrix(run, kind, n, shift)
    title = _("M: PE(p + {k}) = M · PE(p)").format(k=shift)
    names = Names(title, _("feature of PE(p + k)"), _("feature of PE(p)"), _("entry"))
    most = measured.largest(found.matrix)
    return position_matrix.square(found.matrix, names, most=most, numbers=True, _=_)
