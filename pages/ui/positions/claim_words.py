"""The claims about positions, in words and numbers."""

from functools import lru_cache

import pandas as pd
import streamlit as st

from blocks.inspection.position_claims import Claim, Verdict
from blocks.model.faults import N_
from blocks.model.kinds import PositionKind
from blocks.observe.run import Run
from pages.ui import terms
from pages.ui.language import _, current_language, enumeration
from pages.ui.positions import measured
from pages.ui.positions.controls import KINDS
from pages.ui.positions.words import token_name

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


def measured_here(run: Run, kind: PositionKind, n: int, shift: int, token: int):
    """The verdicts of a kind, over as many positions as it has."""
    rows = measured.n_rows(run, kind, n)
    return measured.verdicts(run, kind, rows, min(shift, max(1, rows - 1)), token)


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
        token=token_name(run, token), x=number(verdict.measured), y=number(verdict.extra or 0.0)
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
    """The grid in words."""
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
    """The bars in words."""
    rows = moved(run, n, shift, token, kinds).itertuples()
    text = _("{kind}: {free} without a mask, {causal} under a causal one")
    return "; ".join(
        text.format(kind=row.label, free=number(row.free), causal=number(row.causal))
        for row in rows
    )


def matrix_sentence(run: Run, kind: PositionKind, n: int, shift: int) -> str:
    """What the matrix that moves positions on looks like."""
    found = measured.shift_matrix(run, kind, n, shift)
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
    """The matrix in words."""
    return matrix_sentence(run, kind, n, shift)
