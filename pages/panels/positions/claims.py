"""What is said of positions, tested on this run."""

from collections.abc import Hashable
from functools import lru_cache, partial
from typing import Any

import streamlit as st

from blocks.inspection import position_claims
from blocks.inspection.position_claims import OUTPUT_ERROR, Claim, ClaimsFacts, ShiftFacts, Verdict
from blocks.inspection.position_facts import kind_fault
from blocks.model.kinds import PositionKind
from blocks.observe.run import Run
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Level, Look, bars
from pages.figures.theme import Picture, faint
from pages.page.declared import Panel
from pages.panels.positions import claims_picture, shared
from pages.panels.positions.claims_picture import SIGNS, claim_name, number
from pages.panels.positions.shared import KINDS
from pages.server import cached
from pages.show.controls import slider
from pages.show.parts import (
    Beside,
    Controls,
    Matrix,
    OffScreen,
    Say,
    Shown,
    Steps,
    Text,
    the_values,
)
from pages.show.ways import take
from pages.stage import present
from pages.state import labelled
from pages.state.values import State
from pages.words import terms
from pages.words.language import _, enumeration, fill, literal, sentences

LEAST_SHOWN = 1e-9
MOST_SHIFT = 64
Verdicts = tuple[Verdict, ...]


@lru_cache(maxsize=64)
def verdicts(run: Run, kind: PositionKind, n: int, shift: int, token: int) -> Verdicts:
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


def works(run: Run, n: int, shift: int, token: int, kind: PositionKind) -> list[partial[Verdicts]]:
    return [partial(verdicts, run, each, n, shift, token) for each in shared.order(kind)]


@lru_cache(maxsize=32)
def claims_facts(
    run: Run, n: int, shift: int, token: int, kind: PositionKind, n_done: int
) -> ClaimsFacts:
    """What was found of the first kinds."""
    kinds = sorted(shared.order(kind)[:n_done], key=KINDS.index)
    found = {kind: verdicts(run, kind, n, shift, token) for kind in kinds}
    return ClaimsFacts(n, shift, run.input.labels[token], found)


@lru_cache(maxsize=16)
def shift_facts(
    run: Run, n: int, shift: int, _token: int, kind: PositionKind, _n_done: int
) -> ShiftFacts | None:
    """The matrix that moves positions on; None where there is none."""
    if kind_fault(run.config, kind):
        return None
    learned = shared.learned(run)[: shared.n_rows(run, kind, n)]
    return position_claims.shift_facts(run.config, kind, learned, shift)


def draw_matrix(facts: ShiftFacts | None) -> Picture | None:
    return claims_picture.matrix(facts, _=_) if facts else None


def says_relative(facts: ClaimsFacts) -> str:
    """Which kinds bring the order in as distance alone, and under what it was measured."""
    text = _("None of the encodings measured here conveys order through distance alone.")
    if facts.relative:
        text = _("With {kinds}, order matters here and scores depend on distance alone.")
    how = _("Measured with these weights: {n} positions, k = {shift}, token {token:token}.")
    found = fill(how, facts)
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
        text = _("The rotation matrix for k = {k} shifts every position, with an error of {x}.")
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
    free, causal = number(none.measured or 0.0), number(none.extra or 0.0)
    return text.format(none=_("none"), free=free, causal=causal)


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
        "rotates its pair by k = {shift} times the pair's frequency. The first {n} of {n_features} "
        "features are shown."
    )
    if facts.is_fitted:
        text = _(
            "The matrix was fitted by least squares; it shows no structure and fails at "
            "positions outside the fit (see the claim). The first {n} of {n_features} features are"
            " shown."
        )
    return fill(text, facts, n=len(facts.matrix))


def draw_verdicts(
    run: Run, n: int, shift: int, token: int, kind: PositionKind, n_done: int
) -> Picture:
    """Claims down, kinds across."""
    facts = claims_facts(run, n, shift, token, kind, n_done)
    names = {kind: terms.option(kind) for kind in KINDS}
    return claims_picture.verdicts(facts, names, shown=kind, _=_)


def permuted(facts: ClaimsFacts) -> Chart | None:
    """How much permuted tokens change the output, as shares of the largest.

    The dashed line is what rounding may do. What is 0 stands at the foot of the axis.
    """
    table = facts.permuted
    if table.empty:
        return None
    names = [terms.option(kind) for kind in table["kind"]]
    looks = {
        "free": Look(_("no mask"), palette.ATTENTION),
        "causal": Look(_("causal mask"), faint(palette.BEFORE, 0.8)),
    }
    hover = "{kind_name}, {name}<br>{value:.2g}"
    rows = table.assign(kind_name=names)
    return Chart(
        _("Output change beyond the permutation"),
        table,
        Axis(names=names),
        Axis(_("largest change / largest output"), (LEAST_SHOWN, 4), is_log=True),
        [
            bars(
                "shown",
                look,
                rows=rows.assign(value=table[of], shown=table[of].clip(lower=LEAST_SHOWN)),
                hover=hover,
            )
            for of, look in looks.items()
        ],
        tall=280,
        levels=[Level(OUTPUT_ERROR, name=_("bound on rounding error"))],
    )


def at(run: Run, state: State) -> tuple[Hashable, ...]:
    """How many positions, by how many they are moved on, the token, and the kind."""
    shift = min(state.position_shift, shared.n_positions(run, state) - 1)
    return run, state.n_positions, shift, labelled.pinned_token(run, state), shared.kind(run, state)


def in_words(run: Run, n: int, shift: int, token: int, kind: PositionKind, n_done: int) -> None:
    """Whether each claim is true of the kind; at its mark, what was measured of it."""
    facts = claims_facts(run, n, shift, token, kind, n_done)
    for verdict in () if present.is_on() else facts.verdicts.get(kind, ()):
        claim = _("{said}.").format(said=claim_name(verdict.claim, _))
        said = says_verdict(facts, kind, verdict)
        st.markdown(f"{_badge(verdict.holds)} **{claim}**", help=said)


def says_matrix(
    run: Run, n: int, shift: int, token: int, kind: PositionKind, n_done: int
) -> str | None:
    """What the matrix looks like, of a kind that fits the model."""
    if kind_fault(run.config, kind):
        return None
    return says_shift(shift_facts(run, n, shift, token, kind, n_done), kind)


def _badge(holds: bool | None) -> str:
    word, color = {
        True: (_("true"), "green"),
        False: (_("false"), "orange"),
        None: (_("not applicable"), "gray"),
    }[holds]
    return f":{color}-badge[{SIGNS[holds]} {word}]"


def shift_choice(run: Run, _n: int, shown: int, state: State) -> None:
    """By how many positions PE is moved on."""
    most = min(MOST_SHIFT, shared.n_positions(run, state) - 1)
    if most > 1:
        slider("position_shift", _("k · positions to shift by"), shown, most=most)


def choose_kind(customdata: list[Any]) -> None:
    take({"shown_position": str(KINDS[int(customdata[0])])})


PANEL = Panel(
    "claims",
    shared.CLAIMS,
    fields=("position_kind", "d_model", "n_heads"),
    of_attention=True,
    concepts=("position_claims",),
    code=(
        *(position_claims.unique, position_claims.shift_matrix, position_claims.linear_shift),
        *(position_claims.distance_only, position_claims.permutation),
    ),
    at=at,
    facts=claims_facts,
    shows=(
        Controls(shift_choice),
        Steps(
            works,
            Say(says_relative),
            Matrix(draw_verdicts, "claim_grid", click=choose_kind, facts=the_values),
            Controls(in_words, is_aside=False),
            OffScreen(
                Beside(
                    (Shown(permuted, "moved"), Text(says_permuted)),
                    (
                        Matrix(draw_matrix, "shift_matrix", facts=shift_facts),
                        Text(says_matrix, the_values),
                    ),
                )
            ),
            key="claims_steps",
        ),
    ),
)
