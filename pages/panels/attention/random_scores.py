"""How scores grow with the width of queries and keys: random vectors, whatever the model reads."""

from collections.abc import Hashable
from typing import Any

import streamlit as st

from blocks.inspection import scaling
from blocks.inspection.scaling import D_HEADS, TOLD, Divisor, RandomScoresFacts, ScoreMeasure
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Look, line
from pages.figures.numbers import readable
from pages.page.declared import Panel
from pages.show.controls import choose
from pages.show.parts import Controls, Note, Say, Shown
from pages.state.values import State
from pages.words.language import _

MEASURES: dict[str, str] = {
    ScoreMeasure.SPREAD: N_("standard deviation of the scores"),
    ScoreMeasure.LARGEST: N_("largest of the 16 weights"),
    ScoreMeasure.SLOPE: N_("slope of softmax"),
}
DIVISORS: dict[str, str] = {
    Divisor.NOTHING: N_("not divided"),
    Divisor.ROOT: N_("divided by √d"),
    Divisor.WIDTH: N_("divided by d"),
}
COLORS = dict(zip(Divisor, (palette.BEFORE, palette.ATTENTION, palette.PINNED), strict=True))
SENTENCES = {
    ScoreMeasure.SPREAD: N_(
        "When scores are {divided}, their standard deviation is {least} at d = {few}, "
        "{middle} at {more} and {most} at {many}."
    ),
    ScoreMeasure.LARGEST: N_(
        "When scores are {divided}, the largest of 16 weights is {least} on average at d "
        "= {few}, {middle} at {more} and {most} at {many}."
    ),
    ScoreMeasure.SLOPE: N_(
        "When scores are {divided}, the slope of softmax, Σ A(1 − A) over 16 keys, is "
        "{least} at d = {few}, {middle} at {more} and {most} at {many}."
    ),
}


def chosen(run: Run, state: State) -> tuple[Hashable, ...]:
    return run, ScoreMeasure(state.score_measure), Divisor(state.divisor)


def random_facts(run: Run, measure: ScoreMeasure, divisor: Divisor) -> RandomScoresFacts:
    return scaling.random_scores_facts(run.seed, measure, divisor)


def says_growth(facts: RandomScoresFacts) -> str:
    """The measure at three widths."""
    found = [readable(facts.curve(facts.divisor)[d]) for d in TOLD]
    numbers = zip(("least", "middle", "most"), found, strict=True)
    widths = zip(("few", "more", "many"), TOLD, strict=True)
    divided = _(DIVISORS[facts.divisor])
    return _(SENTENCES[facts.measure]).format(divided=divided, **dict(numbers), **dict(widths))


def says_drawn(facts: RandomScoresFacts) -> str:
    text = _("Random queries and keys with entries from N(0, 1) (seed {seed}); 16 keys, no mask.")
    return text.format(seed=facts.seed)


def controls() -> None:
    """What is measured, and what scores are divided by."""
    with st.container(horizontal=True):
        choose("score_measure", _("Quantity"), MEASURES, label_of=lambda n: _(MEASURES[n]))
        choose("divisor", _("Scores"), DIVISORS, label_of=lambda n: _(DIVISORS[n]))


def curves(facts: RandomScoresFacts) -> Chart:
    """One measure against the width, for every divisor up to the chosen one, which is strong.

    Standard deviations are powers of d: straight lines, where both axes are logarithmic.
    """
    name = _(MEASURES[facts.measure])
    is_log = facts.measure is ScoreMeasure.SPREAD
    strong: dict[bool, dict[str, Any]] = {
        True: {"size": 8, "width": 3},
        False: {"size": 4, "width": 1.5},
    }
    return Chart(
        _("Attention between random vectors, by width"),
        {"d": D_HEADS, **{each: facts.curve(each).tolist() for each in facts.drawn}},
        Axis(_("d: entries per vector"), of="d", is_log=True, ticks=D_HEADS),
        Axis(name, (0.032, 32), is_log=True, room=0) if is_log else Axis(name, (0, 1.05)),
        [
            line(
                each,
                Look(_(DIVISORS[each]), COLORS[each], "circle", **strong[each is facts.divisor]),
            )
            for each in facts.drawn
        ],
        hover="d = {x}: {y:.3f}",
    )


PANEL = Panel(
    "random-scores",
    N_("How do scores grow with d?"),
    fields=("seed",),
    reads_input=False,
    concepts=("random_scores",),
    code=(scaling.random_table, scaling.sharpness),
    at=chosen,
    facts=random_facts,
    shows=(Say(says_growth), Controls(controls), Shown(curves, "random_scores"), Note(says_drawn)),
)
