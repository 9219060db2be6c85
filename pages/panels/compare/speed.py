"""Which of A and B is faster here: forward passes of both, measured in turn."""

import streamlit as st

from blocks.cost import paired_time
from blocks.cost.paired_time import PairSeries, PairTimes
from pages.figures.numbers import readable
from pages.figures.units import duration
from pages.page.frame import section
from pages.panels.compare import shared
from pages.panels.compare.shared import Pair, Row
from pages.panels.cost.shared import measure_button
from pages.show.explain import explained, note
from pages.show.steps import in_series
from pages.show.tables import show_whole
from pages.state.values import State
from pages.words.language import _, sentences

N_ROUNDS = 7


def says_time(facts: PairTimes) -> str:
    """Which is faster here, and whether the spread allows to say so."""
    (a_low, a_high), (b_low, b_high) = facts.a.quartiles, facts.b.quartiles
    text = _(
        "Measured here on {device} in {rounds} alternating rounds; median (quartiles): A {a} "
        "({a_low} to {a_high}), B {b} ({b_low} to {b_high})."
    )
    said = text.format(
        device=facts.device,
        rounds=len(facts.rounds),
        a=duration(facts.a.median),
        a_low=duration(a_low),
        a_high=duration(a_high),
        b=duration(facts.b.median),
        b_low=duration(b_low),
        b_high=duration(b_high),
    )
    expected = _("Judging by FLOPs alone, B would take {expected} times as long as A.")
    return sentences(said, _verdict(facts), expected.format(expected=readable(facts.flops_ratio)))


def _verdict(facts: PairTimes) -> str:
    """Who is faster, where the rounds agree; and what to make of it where they do not."""
    low, high = facts.ratios[0], facts.ratios[-1]
    if low > 1:
        text = _("B was slower in every round: it took {ratio} times as long as A (median).")
    elif high < 1:
        text = _("B was faster in every round: it took {ratio} times as long as A (median).")
    else:
        text = _(
            "Compared round by round, B took {ratio} times as long as A (median; {low} to "
            "{high}): no clear winner."
        )
    said = text.format(ratio=readable(facts.ratio), low=readable(low), high=readable(high))
    if not facts.is_busy:
        return said
    busy = _(
        "This device is also busy with other work, so the fastest rounds are the most reliable."
    )
    return sentences(said, busy)


def says_what_is_timed(n_a: int, n_b: int) -> str:
    """A pass over so many tokens of A and of B."""
    return _(
        "Each round is one forward pass of each model over your text ({tokens} tokens), "
        "without gradients or recording; A and B alternate, each after a warm-up."
    ).format(tokens=n_b if n_a == n_b else f"{n_a} / {n_b}")


def rows(facts: PairTimes) -> list[Row]:
    """The middle of all rounds, and the fastest: whatever else runs here only adds time."""
    a, b = facts.a, facts.b
    label = _("forward-pass time here, fastest round")
    return [
        Row(_("forward-pass time here, median"), a.median, b.median, duration),
        Row(label, min(a.seconds), min(b.seconds), duration),
    ]


@section
def how_fast_here(pair: Pair, state: State) -> None:
    """One forward pass of each, measured in turn."""
    again = _("Measure again")
    with explained(("comparing",), (paired_time.measure_round,), key="pair_time"):
        is_asked = measure_button("measure_pair", _("Measure A and B here"), state, again=again)
    if is_asked:
        measured(pair, state.measure_pair)
    note(says_what_is_timed(*(run.input.shape[1] for run in pair.both)))


def measured(pair: Pair, attempt: int) -> None:
    """Measure, and say what was found."""
    rounds = PairSeries(pair.a, pair.b, attempt, N_ROUNDS)
    done = in_series(rounds, key="pair_rounds", asked_by="measure_pair")
    if done.found:
        facts = paired_time.pair_times(pair.a, pair.b, tuple(done.found))
        st.info(says_time(facts), icon=":material/timer:")
        show_whole(shared.table(rows(facts)))
