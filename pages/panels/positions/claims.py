"""What is said of positions, tested on this run."""

from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from blocks.inspection import position_claims
from blocks.inspection.position_claims import Claim, Verdict
from blocks.model.faults import N_
from blocks.model.kinds import PositionKind
from blocks.observe.run import Run
from pages.figures import position_matrix
from pages.figures.position_matrix import Names
from pages.figures.table_rows import each_row
from pages.figures.theme import Picture
from pages.panels.positions import claims_picture, shared
from pages.panels.positions.shared import KINDS
from pages.ui import cached, labelled, link, terms
from pages.ui.chart import columns, show
from pages.ui.controls import slider
from pages.ui.explain import explained
from pages.ui.frame import section
from pages.ui.language import _, current_language, enumeration, literal
from pages.ui.steps import in_steps


def n_asked() -> int:
    """How many positions the reader asks for; tables that end before show fewer."""
    return link.value("n_positions")


def fits(run: Run) -> bool:
    """Whether the kind that is looked at fits this model."""
    return shared.fault_of(run, shared.kind(run)) is None


def chosen_shift(run: Run) -> int:
    """By how many positions PE is moved on; at least one position must be left."""
    return min(link.value("position_shift"), shared.n_positions(run) - 1)


@lru_cache(maxsize=64)
def verdicts(
    run: Run, kind: PositionKind, n: int, shift: int, token: int
) -> tuple[Verdict, ...] | None:
    """Every claim about a kind, measured with this run's weights; None where it does not fit."""
    if shared.fault_of(run, kind) is not None:
        return None
    with cached.turn(run.device):
        return position_claims.verdicts(
            cached.model(run),
            run.config,
            kind,
            run.values()[:1],
            n=n,
            shift=shift,
            token=token,
            seed=run.seed,
        )


class Shift(NamedTuple):
    """The matrix that moves positions on, and what it does to the features of one position."""

    matrix: NDArray[np.float32]
    is_fitted: bool
    n_features: int


MOST_FEATURES = 32


@lru_cache(maxsize=16)
def shift_matrix(run: Run, kind: PositionKind, n: int, shift: int) -> Shift | None:
    """M_k, its first features; None where a kind has none, or too few positions to fit it."""
    waves = position_claims.waves_of(run.config, kind)
    if waves:
        matrix = position_claims.shift_matrix(*waves, shift)
    elif kind is PositionKind.LEARNED and n - shift >= position_claims.LEAST_TO_FIT:
        matrix, _errors = position_claims.fitted_shift(shared._learned(run)[:n], shift)
    else:
        return None
    shown = matrix[:MOST_FEATURES, :MOST_FEATURES].float().numpy()
    return Shift(shown, waves is None, len(matrix))


def largest(matrix: NDArray[np.float32]) -> float:
    """The largest entry by size."""
    return float(np.abs(matrix).max())


def token_name(run: Run, token: int) -> str:
    """A token inside a sentence."""
    return literal(run.input.labels[token])


MOST_SHIFT = 64


def shift_choice(run: Run) -> None:
    """By how many positions PE is moved on."""
    most = min(MOST_SHIFT, shared.n_positions(run) - 1)
    if most > 1:
        label = _("k · positions to shift by")
        slider("position_shift", label, chosen_shift(run), most=most)


def choose_kind(customdata: list[Any]) -> None:
    """A cell of the claims was clicked."""
    link.change("shown_position", str(shared.KINDS[int(customdata[0])]))
    link.redraw_everything()


NAMES = {
    Claim.UNIQUE: N_("No two positions are alike"),
    Claim.BOUNDED: N_("All values lie in [−1, 1]"),
    Claim.SHIFT: N_("Shifting positions is a linear map"),
    Claim.DISTANCE: N_("Scores depend on distance only"),
    Claim.PERMUTATION: N_("Order does not matter"),
}

MEASURES = {
    Claim.UNIQUE: N_("smallest distance between two positions"),
    Claim.BOUNDED: N_("largest |value|"),
    Claim.SHIFT: N_("max |M·PE(p) − PE(p + k)|"),
    Claim.DISTANCE: N_("range at equal distance / largest |q|·|k|/√d_head"),
    Claim.PERMUTATION: N_("change / largest output"),
}

SIGNS = {True: "✓", False: "✗", None: "–"}

Kinds = tuple[PositionKind, ...]  # those that are measured


def number(value: float) -> str:
    """A measured number in few characters; an exact nought as such."""
    if value == 0:
        return "0"
    return f"{value:.2g}" if 1e-3 <= abs(value) < 1e4 else f"{value:.0e}".replace("e-0", "e-")


def measured_here(
    run: Run, kind: PositionKind, n: int, shift: int, token: int
) -> tuple[Verdict, ...] | None:
    """The verdicts of a kind, over as many positions as it has."""
    rows = shared.n_rows(run, kind, n)
    return verdicts(run, kind, rows, min(shift, max(1, rows - 1)), token)


def grid(run: Run, n: int, shift: int, token: int, kinds: Kinds) -> pd.DataFrame:
    """A row a claim and kind, measured or not yet: verdict, text, hover."""
    return _grid(run, n, shift, token, kinds, current_language())


@lru_cache(maxsize=32)
def _grid(run: Run, n: int, shift: int, token: int, kinds: Kinds, language: str) -> pd.DataFrame:
    found = {kind: measured_here(run, kind, n, shift, token) for kind in kinds}
    found = {kind: found.get(kind, ()) for kind in KINDS}
    rows = []
    for i, claim in enumerate(NAMES):
        for kind, verdicts in found.items():
            verdict = verdicts[i] if verdicts else Verdict(claim, None, 0.0)
            is_due = kind not in kinds
            rows.append(
                {
                    "verdict": str(verdict.holds).lower(),
                    "text": "…" if is_due else _cell(verdict),
                    "hover": _("not measured yet") if is_due else _hover(claim, kind, verdict),
                }
            )
    return pd.DataFrame(rows)


def _cell(verdict: Verdict) -> str:
    if verdict.measured is None:
        return SIGNS[None]
    return f"{SIGNS[verdict.holds]} {number(verdict.measured)}"


def _hover(claim: Claim, kind: PositionKind, verdict: Verdict) -> str:
    begin = f"{terms.option(kind)}: {_(NAMES[claim])}"
    if verdict.measured is None:
        return f"{begin}<br>" + _("not applicable to this encoding, or too few positions")
    sign = ">" if verdict.must_exceed else "≤"
    told = f"{_(MEASURES[claim])}: {number(verdict.measured)}"
    needed = _("true if {sign} {limit}").format(sign=sign, limit=number(verdict.limit))
    return f"{begin}<br>{told}<br>{needed}".replace("| <", "| &lt;")


def claim_names() -> list[str]:
    """What the claims are called."""
    return [_(name) for name in NAMES.values()]


def kind_names() -> list[str]:
    """What the kinds are called."""
    return [terms.option(kind) for kind in KINDS]


def sentences(run: Run, kind: PositionKind, n: int, shift: int, token: int) -> None:
    """Each claim about one kind, with its verdict and what was measured."""
    verdicts = measured_here(run, kind, n, shift, token)
    for verdict in verdicts or ():
        text = sentence(run, kind, verdict, shift=shift, token=token)
        st.markdown(f"{_badge(verdict.holds)} **{_(NAMES[verdict.claim])}.**", help=text)


def _badge(holds: bool | None) -> str:
    word, color = {
        True: (_("true"), "green"),
        False: (_("false"), "orange"),
        None: (_("not applicable"), "gray"),
    }[holds]
    return f":{color}-badge[{SIGNS[holds]} {word}]"


def sentence(run: Run, kind: PositionKind, verdict: Verdict, *, shift: int, token: int) -> str:
    """What was measured of one claim, and what it means here."""
    match verdict.claim:
        case Claim.UNIQUE:
            return _unique(verdict)
        case Claim.BOUNDED:
            return _bounded(kind, verdict)
        case Claim.SHIFT:
            return _shift(kind, verdict, shift)
        case Claim.DISTANCE:
            return _distance(run, kind, verdict, token)
        case Claim.PERMUTATION:
            return _permutation(verdict)


def _unique(verdict: Verdict) -> str:
    if verdict.measured is None:
        return _("With one position there is nothing to compare.")
    text = (
        _("The two nearest positions are {x} apart: every position is distinct.")
        if verdict.holds
        else _("The two nearest positions are {x} apart: they cannot be distinguished.")
    )
    return text.format(x=number(verdict.measured))


def _bounded(kind: PositionKind, verdict: Verdict) -> str:
    if verdict.measured is None:
        return _("There are no values.")
    most = number(verdict.measured)
    if kind is PositionKind.ALIBI:
        text = _("The largest bias is −{x}, and it grows with length: that is its purpose.")
    elif kind is PositionKind.LEARNED:
        text = _("The largest |value| is {x}, but no formula bounds it: training may change it.")
    else:
        text = _("The largest |value| is {x}, at any length: sines and cosines cannot grow.")
    return text.format(x=most)


def _shift(kind: PositionKind, verdict: Verdict, shift: int) -> str:
    if verdict.measured is None:
        if kind in (PositionKind.NONE, PositionKind.ALIBI):
            return _("No position has a vector of its own, so there is nothing to shift.")
        return _("Too few positions are shown to test it: show more.")
    said = {"k": shift, "x": number(verdict.measured), "share": f"{verdict.extra:.2%}"}
    if kind is PositionKind.LEARNED:
        text = _(
            "The best matrix for k = {k}, fitted to every other position, misses those between by "
            "up to {x}; its RMS error is {share} of the table's RMS."
        )
    elif verdict.holds:
        text = _("The rotation matrix for k = {k} shifts every position; error {x}.")
    else:
        text = _(
            "The rotation matrix for k = {k} is off by {x}: with an odd width the last "
            "sine has no cosine partner."
        )
    return text.format(**said)


def _distance(run: Run, kind: PositionKind, verdict: Verdict, token: int) -> str:
    begin = _(
        "With {token} at every position, scores at equal distance in the first layer "
        "differ by {x} in float32 and {y} in float64 (relative to the largest "
        "|q|·|k|/√d_head)."
    ).format(
        token=token_name(run, token),
        x=number(verdict.measured or 0.0),
        y=number(verdict.extra or 0.0),
    )
    if kind is PositionKind.NONE:
        return begin + " " + _("They do not depend on distance either: all are equal.")
    if verdict.holds:
        return begin
    return (
        begin
        + " "
        + _("An added position vector mixes with the token vector in every dot product.")
    )


def _permutation(verdict: Verdict) -> str:
    if verdict.measured is None:
        return _(
            "There is only one token, or the table is too short for the text: nothing to permute."
        )
    said = {"x": number(verdict.measured), "y": number(verdict.extra or 0.0)}
    text = (
        _(
            "The whole model on permuted tokens, no mask: outputs are permuted too, "
            "otherwise they change by {x}."
        )
        if verdict.holds
        else _("The whole model on permuted tokens, no mask: the outputs change by {x}.")
    )
    knows = (
        _("Under a causal mask they change by {y}: the mask alone conveys order.")
        if verdict.holds and (verdict.extra or 0.0) > verdict.limit
        else _("Under a causal mask they change by {y}.")
    )
    return f"{text} {knows}".format(**said)


def grid_sentence(run: Run, n: int, shift: int, token: int, kinds: Kinds) -> str:
    """Which kinds bring the order in as distance alone, and under what it was measured."""
    good = [terms.option(kind) for kind in kinds if _is_relative(run, kind, n, shift, token)]
    text = _("Order matters, and scores depend on distance alone, with {kinds} here.")
    if not good:
        text = _("No encoding measured here makes order matter through distance alone.")
    how = _("Measured with these weights: {n} positions, k = {k}, token {token}.")
    found = how.format(n=n, k=shift, token=token_name(run, token))
    return f"{text.format(kinds=', '.join(good))} {found}"


def _is_relative(run: Run, kind: PositionKind, n: int, shift: int, token: int) -> bool:
    found = measured_here(run, kind, n, shift, token) or ()
    verdicts = {verdict.claim: verdict.holds for verdict in found}
    return verdicts.get(Claim.DISTANCE) is True and verdicts.get(Claim.PERMUTATION) is False


def grid_alt(run: Run, n: int, shift: int, token: int, kinds: Kinds, _shown: int) -> str:
    """Write the alt text of the grid."""
    texts, names, width = list(grid(run, n, shift, token, kinds)["text"]), kind_names(), len(KINDS)
    rows = [zip(names, texts[i * width : (i + 1) * width], strict=True) for i in range(len(NAMES))]
    said = [enumeration(f"{kind} {text}" for kind, text in row) for row in rows]
    claims = zip(claim_names(), said, strict=True)
    return "; ".join(f"{claim}: {row}" for claim, row in claims) + "."


def moved(run: Run, n: int, shift: int, token: int, kinds: Kinds) -> pd.DataFrame:
    """How much permuting changes the output of each kind: label, free, causal."""
    rows = []
    for kind in kinds:
        verdict = (measured_here(run, kind, n, shift, token) or [None])[-1]
        if verdict is not None and verdict.measured is not None:
            rows.append((terms.option(kind), verdict.measured, verdict.extra))
    return pd.DataFrame(rows, columns=["label", "free", "causal"])


def moved_sentence(run: Run, n: int, shift: int, token: int, kinds: Kinds) -> str:
    """What permuting does without positions, and with them."""
    table = moved(run, n, shift, token, kinds)
    if table.empty:
        return _("There is only one token: nothing to permute.")
    if PositionKind.NONE not in kinds:
        return _("The case without any positional encoding is not measured yet: continue above.")
    row = table.iloc[0]
    text = _(
        "Without positions and mask, permuting tokens permutes the outputs (error up to "
        "{free}); under a causal mask they differ by {causal}, so even “{none}” conveys "
        "order there."
    )
    if row["causal"] <= row["free"] * 10:
        text = _(
            "Without positions and mask, permuting tokens permutes the outputs (error "
            "up to {free}); under a causal mask they differ by {causal}."
        )
    said = {"free": number(row["free"]), "causal": number(row["causal"]), "none": _("none")}
    return text.format(**said)


def moved_alt(run: Run, n: int, shift: int, token: int, kinds: Kinds) -> str:
    """Write the alt text of the bars."""
    rows = each_row(moved(run, n, shift, token, kinds))
    text = _("{kind}: {free} without a mask, {causal} under a causal one")
    return "; ".join(
        text.format(kind=row.label, free=number(row.free), causal=number(row.causal))
        for row in rows
    )


def matrix_sentence(run: Run, kind: PositionKind, n: int, shift: int) -> str:
    """What the matrix that moves positions on looks like."""
    found = shift_matrix(run, kind, n, shift)
    if found is None:
        return _(
            "{kind} gives positions no vector, or too few positions are shown: there is no matrix."
        ).format(kind=terms.option(kind))
    if found.is_fitted:
        text = _(
            "Fitted by least squares: no structure is visible, and it fails at "
            "positions that were not fitted (see the claim). First {n} of {width} "
            "features."
        )
    else:
        text = _(
            "Blocks of 2 × 2 on the diagonal: each rotates its pair by k = {k} times "
            "the pair's frequency, the same for every position. First {n} of {width} "
            "features."
        )
    return text.format(k=shift, n=len(found.matrix), width=found.n_features)


def matrix_alt(run: Run, kind: PositionKind, n: int, shift: int) -> str:
    """Write the alt text of the matrix."""
    return matrix_sentence(run, kind, n, shift)


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
    asked = n_asked(), chosen_shift(run), labelled.pinned_token(run)
    order = shared.order(run)
    steps = [partial(measured_here, run, kind, *asked) for kind in order]
    n_done = len(in_steps(steps, what=(run, *asked, order), key="claims_steps").found)
    if not n_done:
        return
    measured_claims = run, *asked, tuple(kind for kind in KINDS if kind in order[:n_done])
    place.info(grid_sentence(*measured_claims), icon=":material/lightbulb:")
    shown = KINDS.index(shared.kind(run))
    shift_choice(run)
    show(
        draw_verdicts,
        *measured_claims,
        shown,
        key="claim_grid",
        alt=grid_alt,
        on_click=choose_kind,
    )
    if fits(run):
        sentences(run, shared.kind(run), *asked)
    _drawn(run, measured_claims)


def _drawn(run: Run, measured_claims: tuple[Run, int, int, int, Kinds]) -> None:
    """Permuted tokens, and the matrix that moves positions on."""
    left, right = columns(2)
    with left:
        if moved(*measured_claims).empty:
            st.info(moved_sentence(*measured_claims))
        else:
            show(draw_moved, *measured_claims, key="moved", alt=moved_alt)
            st.markdown(moved_sentence(*measured_claims))
    with right:
        kind, n, shift = shared.kind(run), shared.n_positions(run), chosen_shift(run)
        has_one = fits(run) and shift_matrix(run, kind, n, shift) is not None
        if has_one:
            shown = run, kind, n, shift
            show(draw_matrix, *shown, key="shift_matrix", alt=matrix_alt)
        if fits(run):
            st.markdown(matrix_sentence(run, kind, n, shift))


def draw_verdicts(run: Run, n: int, shift: int, token: int, kinds: Kinds, shown: int) -> Picture:
    """Claims down, kinds across."""
    return claims_picture.verdicts(
        grid(run, n, shift, token, kinds),
        claim_names(),
        kind_names(),
        shown=shown,
        _=_,
    )


def draw_moved(run: Run, n: int, shift: int, token: int, kinds: Kinds) -> Picture:
    """What permuted tokens change."""
    table = moved(run, n, shift, token, kinds)
    return claims_picture.moved(table, limit=position_claims.OUTPUT_ERROR, _=_)


def draw_matrix(run: Run, kind: PositionKind, n: int, shift: int) -> Picture:
    """The matrix that moves positions on."""
    found = shift_matrix(run, kind, n, shift)
    assert found is not None
    title = _("M: PE(p + {k}) = M · PE(p)").format(k=shift)
    names = Names(title, _("feature of PE(p + k)"), _("feature of PE(p)"), _("entry"))
    most = largest(found.matrix)
    return position_matrix.square(found.matrix, names, most=most, numbers=True, _=_)
