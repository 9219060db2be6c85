"""Each position alone: tokens shuffled, and one token changed, measured beside attention."""

from collections.abc import Iterator
from functools import lru_cache

import pandas as pd
import streamlit as st

from blocks.inspection import permuted
from blocks.inspection.permuted import ReachFacts, Shuffled, ShuffleFacts
from blocks.model.kinds import PositionKind
from blocks.observe.run import Run
from pages.panels.feed_forward import positions_picture, shared
from pages.ui import cached, terms
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, literal, sentences
from pages.ui.said import say
from pages.ui.tables import show_table


@lru_cache(maxsize=32)
def shuffle_facts(run: Run, layer: int) -> ShuffleFacts:
    """Shuffle the tokens and compare: feed-forward, attention without and with this run's mask."""
    seen = shared.see(run, layer)
    with cached.turn(run.device):
        return permuted.shuffle_facts(seen)


@lru_cache(maxsize=32)
def reach_facts(run: Run, layer: int, token: int) -> ReachFacts:
    """Change one token's input, and see whose outputs move."""
    seen = shared.see(run, layer)
    with cached.turn(run.device):
        return permuted.reach_facts(seen, token)


def says_shuffled(facts: ShuffleFacts) -> str:
    """What shuffling the tokens changes, and why."""
    text = _(
        "With the {n} tokens shuffled ({orders} orders tried), feed-forward outputs differ "
        "from the shuffled original outputs by at most {difference} ({verdict})."
    )
    own = facts.feed_forward
    verdict = _("rounding error only") if own.difference else _("exactly 0")
    if not own.is_rounding:
        verdict = _("more than rounding error: with a capacity limit, order matters")
    difference = f"{own.difference:.1e}" if own.difference else "0"
    tried = {"n": facts.n_tokens, "orders": facts.n_orders}
    said = text.format(difference=difference, verdict=verdict, **tried)
    return sentences(said, *_of_attention(facts))


def _of_attention(facts: ShuffleFacts) -> Iterator[str]:
    bare, masked, kind = facts.unmasked, facts.masked, facts.position_kind
    text = _("Without a mask, the same shuffling changes attention by up to {difference:.2g}.")
    if bare.is_rounding:
        text = _(
            "Attention without a mask changes by rounding error only ({difference:.1e}): it "
            "treats tokens as a set."
        )
    elif kind in (PositionKind.ROPE, PositionKind.ALIBI):
        text = _(
            "Even without a mask, attention changes by up to {difference:.2g}, since {kind} "
            "gives it position information."
        )
    yield text.format(difference=bare.difference, kind=terms.option(kind))
    if masked:
        text = _("With this run's mask, attention changes by up to {difference:.2g}.")
        yield text.format(difference=masked.difference)


def says_reach(facts: ReachFacts) -> str:
    """Whose output one changed token moves."""
    text = _(
        "The input of {token} (position {position}) was replaced by a random vector with the "
        "same RMS. Feed-forward outputs that changed: {wide} of {n}; attention outputs: "
        "{read} of {n}."
    )
    said = text.format(
        token=literal(facts.labels[facts.changed]),
        position=facts.changed + 1,
        wide=facts.n_moved("feed_forward"),
        read=facts.n_moved("attention"),
        n=len(facts.labels),
    )
    return sentences(said, *_why_elsewhere(facts))


def _why_elsewhere(facts: ReachFacts) -> Iterator[str]:
    if facts.changed != facts.pinned:
        text = _(
            "Only {token} itself may attend to the pinned {token}, so another token was changed."
        )
        yield text.format(token=literal(facts.labels[facts.pinned]))
    if facts.has_experts and facts.n_moved("feed_forward") > 1:
        text = _("With a capacity limit, changing one token can displace others.")
        rounding = _(
            "If an expert's batch contains different tokens, its outputs may be "
            "rounded differently."
        )
        yield text if facts.has_capacity else rounding


def shuffled_table(parts: tuple[Shuffled, ...]) -> None:
    """What shuffling the tokens changes in each part."""
    names = {
        "feed_forward": _("feed-forward"),
        "unmasked": _("attention, no mask"),
        "masked": _("attention, this run's mask"),
    }
    same, changes = _("same outputs"), _("different outputs")
    shown = pd.DataFrame(
        {
            _("part"): [names[row.part] for row in parts],
            _("after shuffling"): [same if row.is_rounding else changes for row in parts],
            _("largest |difference|"): [f"{row.difference:.2g}" for row in parts],
            _("RMS of the output"): [f"{row.size:.3g}" for row in parts],
        }
    )
    show_table(shown, key="shuffle_table")


@section
def each_position_alone(run: Run) -> None:
    """Shuffle the tokens; change one of them; see what moves."""
    at = shared.selection(run)
    code = (permuted.shuffle_difference, permuted.reach_of)
    place = explained(("feed_forward", "attention"), code, key="positions")
    if run.input.shape[1] == 1:
        text = _("A single token cannot be reordered: type a longer text.")
        place.info(text, icon=":material/lightbulb:")
        return
    with place:
        say(says_shuffled, run, at.layer, facts=shuffle_facts)
    left, right = columns(2)
    with left:
        show(positions_picture.reach, run, at.layer, at.token, facts=reach_facts, key="reach")
    with right:
        shuffled_table(shuffle_facts(run, at.layer).parts)
        st.markdown(says_reach(reach_facts(run, at.layer, at.token)))
    note(
        _(
            "Each part was rerun on its own inputs from this run, in evaluation mode; where "
            "a mask is used, it is not shuffled."
        )
    )
