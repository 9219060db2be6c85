"""What is said of positions, tested on this run."""

from functools import lru_cache, partial
from typing import Any

import streamlit as st

from blocks.inspection import position_claims
from blocks.inspection.position_claims import Claim, ClaimsFacts, ShiftFacts, Verdict
from blocks.inspection.position_facts import kind_fault
from blocks.model.kinds import PositionKind
from blocks.observe.run import Run
from pages.figures.theme import Picture, Translate
from pages.panels.positions import claims_picture, shared
from pages.panels.positions.claims_picture import SIGNS, claim_name, number
from pages.panels.positions.shared import KINDS
from pages.ui import cached, labelled, link, present, terms
from pages.ui.chart import columns, show
from pages.ui.controls import slider
from pages.ui.explain import explained
from pages.ui.frame import section
from pages.ui.language import _, enumeration, literal, sentences
from pages.ui.said import say
from pages.ui.steps import in_steps
from pages.ui.ways import take

MOST_SHIFT = 64
Kinds = tuple[PositionKind, ...]
CODE = (
    position_claims.unique,
    position_claims.shift_matrix,
    position_claims.linear_shift,
    position_claims.distance_only,
    position_claims.permutation,
)


@lru_cache(maxsize=64)
def verdicts(run: Run, kind: PositionKind, n: int, shift: int, token: int) -> tuple[Verdict, ...]:
    """Every claim about a kind, with this run's weights, over as many positions as it has."""
    if kind_fault(run.config, kind) is not None:
        return ()
    rows = shared.n_rows(run, kind, n)
    with cached.turn(run.device):
        return position_claims.verdicts(
            cached.model(run),
            run.config,
            kind,
            run.values()[:1],
            n=rows,
            shift=min(shift, max(1, rows - 1)),
            token=token,
            seed=run.seed,
        )


@lru_cache(maxsize=32)
def claims_facts(run: Run, n: int, shift: int, token: int, kinds: Kinds) -> ClaimsFacts:
    """What was found of some kinds."""
    found = {kind: verdicts(run, kind, n, shift, token) for kind in kinds}
    return ClaimsFacts(n, shift, run.input.labels[token], found)


@lru_cache(maxsize=16)
def shift_facts(run: Run, kind: PositionKind, n: int, shift: int) -> ShiftFacts | None:
    """The matrix that moves positions on; None where there is none."""
    return position_claims.shift_facts(run.config, kind, shared.learned(run)[:n], shift)


def says_relative(facts: ClaimsFacts) -> str:
    """Which kinds bring the order in as distance alone, and under what it was measured."""
    text = _("No encoding measured here makes order matter through distance alone.")
    if facts.relative:
        text = _("With {kinds}, order matters here and scores depend on distance alone.")
    how = _("Measured with these weights: {n} positions, k = {k}, token {token}.")
    found = how.format(n=facts.n, k=facts.shift, token=literal(facts.token))
    said = text.format(kinds=enumeration(map(terms.option, facts.relative)))
    return sentences(shared.says_how_far(len(facts.verdicts)), said, found)


def says_verdict(facts: ClaimsFacts, kind: PositionKind, verdict: Verdict) -> str:
    """What was measured of one claim, and what it means here."""
    match verdict.claim:
        case Claim.UNIQUE:
            return _unique(verdict)
        case Claim.BOUNDED:
            return _bounded(kind, verdict)
        case Claim.SHIFT:
            return _shift(kind, verdict, facts.shift)
        case Claim.DISTANCE:
            return _distance(kind, verdict, facts.token)
    return _permutation(verdict)


def _unique(verdict: Verdict) -> str:
    if verdict.measured is None:
        return _("With only one position, there is nothing to compare.")
    text = _("The two most similar positions differ by {x}, so they cannot be distinguished.")
    if verdict.holds:
        text = _("The two most similar positions differ by {x}, so every position is distinct.")
    return text.format(x=number(verdict.measured))


def _bounded(kind: PositionKind, verdict: Verdict) -> str:
    if verdict.measured is None:
        return _("There are no values.")
    text = _("The largest |value| is {x}, at any length: sines and cosines are bounded.")
    if kind is PositionKind.ALIBI:
        text = _("The strongest bias is −{x}, and it grows with length by design.")
    elif kind is PositionKind.LEARNED:
        text = _("The largest |value| is {x}, but no formula bounds it: training may change it.")
    return text.format(x=number(verdict.measured))


def _shift(kind: PositionKind, verdict: Verdict, shift: int) -> str:
    if verdict.measured is None:
        if kind in (PositionKind.NONE, PositionKind.ALIBI):
            return _("No position has a vector of its own, so there is nothing to shift.")
        return _("Too few positions are shown to test this. Show more.")
    text = _(
        "The rotation matrix for k = {k} is off by {x}: with an odd width, the last sine has "
        "no cosine partner."
    )
    if kind is PositionKind.LEARNED:
        text = _(
            "The best matrix for k = {k}, fitted to every second position, misses the "
            "positions in between by up to {x}; its RMS error is {share} of the table's RMS."
        )
    elif verdict.holds:
        text = _("The rotation matrix for k = {k} shifts every position; error {x}.")
    return text.format(k=shift, x=number(verdict.measured), share=f"{verdict.extra:.2%}")


def _distance(kind: PositionKind, verdict: Verdict, token: str) -> str:
    text = _(
        "With {token} at every position, scores at equal distance in the first layer "
        "differ by {x} in float32 and {y} in float64 (relative to the largest "
        "|q|·|k|/√d_head)."
    )
    x, y = number(verdict.measured or 0.0), number(verdict.extra or 0.0)
    said = text.format(token=literal(token), x=x, y=y)
    more = _("An added position vector mixes with the token vector in every dot product.")
    if kind is PositionKind.NONE:
        more = _("They do not even depend on distance: all are equal.")
    return sentences(said, "" if verdict.holds and kind is not PositionKind.NONE else more)


def _permutation(verdict: Verdict) -> str:
    if verdict.measured is None:
        return _(
            "There is only one token, or the table is too short for the text, so permutation "
            "cannot be tested."
        )
    if verdict.overflows:
        return _("The outputs overflow float32, so nothing can be compared.")
    causal = verdict.extra or 0.0
    text = _(
        "In the whole model without a mask, permuting tokens changes the outputs by {x} "
        "beyond the permutation."
    )
    knows = _("Under a causal mask they change by {y}.")
    if verdict.holds:
        text = _(
            "In the whole model without a mask, permuting tokens permutes the outputs; apart "
            "from that, they change by {x}."
        )
        if causal > verdict.limit:
            knows = _(
                "Under a causal mask, the outputs change by {y}: the mask alone conveys order."
            )
    return sentences(text, knows).format(x=number(verdict.measured), y=number(causal))


def says_permuted(facts: ClaimsFacts) -> str:
    """What permuting does without positions, and with them."""
    none = facts.of(PositionKind.NONE, Claim.PERMUTATION)
    if none and none.overflows:
        return _permutation(none)
    if facts.permuted.empty:
        return _("There is only one token, so there is nothing to permute.")
    if none is None:
        return _(
            "The case without positional encoding has not been measured yet. Click “Continue”"
            " above."
        )
    text = _(
        "Without positional encoding or a mask, permuting the tokens permutes the outputs in "
        "the same way (error up to {free}); with a causal mask, the outputs differ from the "
        "permuted ones by {causal}."
    )
    if facts.mask_tells_order:
        text = _(
            "Without positional encoding or a mask, permuting the tokens permutes the "
            "outputs in the same way (error up to {free}); with a causal mask, the outputs "
            "differ from the permuted ones by {causal}: with “{none}”, the mask alone "
            "conveys order."
        )
    changes = {"free": number(none.measured or 0.0), "causal": number(none.extra or 0.0)}
    return text.format(none=_("none"), **changes)


def says_shift(facts: ShiftFacts | None, kind: PositionKind) -> str:
    """What the matrix that moves positions on looks like."""
    if facts is None:
        text = _(
            "There is no matrix, because the encoding ({kind}) has no position vectors or too"
            " few positions are shown."
        )
        return text.format(kind=terms.option(kind))
    text = _(
        "The matrix has 2 × 2 blocks on its diagonal, the same for every position; each "
        "rotates its pair by k = {k} times the pair's frequency. The first {n} of {width} "
        "features are shown."
    )
    if facts.is_fitted:
        text = _(
            "The matrix was fitted by least squares; it shows no structure and fails at "
            "positions outside the fit (see the claim). The first {n} of {width} features are"
            " shown."
        )
    return text.format(k=facts.shift, n=len(facts.matrix), width=facts.n_features)


def draw_verdicts(
    run: Run, n: int, shift: int, token: int, kinds: Kinds, shown: PositionKind
) -> Picture:
    """Claims down, kinds across."""
    facts = claims_facts(run, n, shift, token, kinds)
    return claims_picture.verdicts(facts, kind_names(), shown=shown, _=_)


def draw_permuted(facts: ClaimsFacts, *, _: Translate) -> Picture:
    """What permuted tokens change."""
    return claims_picture.permuted(facts.permuted, kind_names(), _=_)


def kind_names() -> dict[PositionKind, str]:
    """What the kinds are called."""
    return {kind: terms.option(kind) for kind in KINDS}


@section
def claims_tested(run: Run) -> None:
    """Every claim for every kind, those of the one looked at in words, and two of them drawn."""
    place = explained(("position_claims",), CODE, key="claims")
    shift = min(link.value("position_shift"), shared.n_positions(run) - 1)
    asked = link.value("n_positions"), shift, labelled.pinned_token(run)
    order = shared.order(run)
    steps = [partial(verdicts, run, kind, *asked) for kind in order]
    n_done = len(in_steps(steps, what=(run, *asked, order), key="claims_steps").found)
    if not n_done:
        return
    shown = run, *asked, tuple(kind for kind in KINDS if kind in order[:n_done])
    with place:
        say(says_relative, *shown, facts=claims_facts)
    with present.aside():
        shift_choice(run, shift)
    kind, facts = shared.kind(run), claims_facts(*shown)
    show(draw_verdicts, *shown, kind, key="claim_grid", on_click=choose_kind)
    if present.is_on():
        return  # the grid says it all in one screen
    for verdict in facts.verdicts.get(kind, ()):
        said = says_verdict(facts, kind, verdict)
        claim = _("{said}.").format(said=claim_name(verdict.claim, _))
        st.markdown(f"{_badge(verdict.holds)} **{claim}**", help=said)
    left, right = columns(2)
    with left:
        if facts.permuted.empty:
            st.info(says_permuted(facts))
        else:
            show(draw_permuted, *shown, facts=claims_facts, key="moved")
            st.markdown(says_permuted(facts))
    with right:
        if shared.fault(run) is None:
            the_matrix(run, kind, shift)


def the_matrix(run: Run, kind: PositionKind, shift: int) -> None:
    """The matrix that moves positions on, where the kind has one."""
    shown = run, kind, shared.n_positions(run), shift
    facts = shift_facts(*shown)
    if facts is not None:
        show(claims_picture.matrix, *shown, facts=shift_facts, key="shift_matrix")
    st.markdown(says_shift(facts, kind))


def _badge(holds: bool | None) -> str:
    word, color = {
        True: (_("true"), "green"),
        False: (_("false"), "orange"),
        None: (_("not applicable"), "gray"),
    }[holds]
    return f":{color}-badge[{SIGNS[holds]} {word}]"


def shift_choice(run: Run, shown: int) -> None:
    """By how many positions PE is moved on."""
    most = min(MOST_SHIFT, shared.n_positions(run) - 1)
    if most > 1:
        slider("position_shift", _("k · positions to shift by"), shown, most=most)


def choose_kind(customdata: list[Any]) -> None:
    """A cell of the claims was clicked."""
    take({"shown_position": str(KINDS[int(customdata[0])])})
