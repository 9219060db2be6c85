"""How scores grow with the width of queries and keys: random vectors, whatever the model reads."""

import streamlit as st

from blocks.inspection import scaling
from blocks.inspection.scaling import TOLD, Divisor, RandomScoresFacts, ScoreMeasure
from blocks.observe.run import Run
from pages.figures.numbers import readable
from pages.panels.attention import random_scores_picture as picture
from pages.ui import link
from pages.ui.chart import show
from pages.ui.controls import choose
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.said import say


def random_facts(run: Run, measure: ScoreMeasure, divisor: Divisor) -> RandomScoresFacts:
    """What is measured of random vectors, drawn from the seed of the run."""
    return scaling.random_scores_facts(run.seed, measure, divisor)


def says_growth(facts: RandomScoresFacts) -> str:
    """The measure at three widths."""
    text = {
        ScoreMeasure.SPREAD: _(
            "When scores are {divided}, their standard deviation is {least} at d = {few}, "
            "{middle} at {more} and {most} at {many}."
        ),
        ScoreMeasure.LARGEST: _(
            "When scores are {divided}, the largest of 16 weights is {least} on average at d "
            "= {few}, {middle} at {more} and {most} at {many}."
        ),
        ScoreMeasure.SLOPE: _(
            "When scores are {divided}, the slope of softmax, Σ A(1 − A) over 16 keys, is "
            "{least} at d = {few}, {middle} at {more} and {most} at {many}."
        ),
    }[facts.measure]
    few, more, many = TOLD
    least, middle, most = (readable(facts.curve(facts.divisor)[d]) for d in TOLD)
    return text.format(
        divided=picture.divisor_names(_)[facts.divisor],
        **{"few": few, "more": more, "many": many, "least": least, "middle": middle, "most": most},
    )


@section
def how_scores_grow(run: Run) -> None:
    """What is measured, what is divided by, and the curves."""
    measure = ScoreMeasure(link.value("score_measure"))
    values = run, measure, Divisor(link.value("divisor"))
    code = (scaling.random_table, scaling.sharpness)
    with explained(("random_scores",), code, key="random_scores"):
        say(says_growth, *values, facts=random_facts)
    measures, divisors = picture.measure_names(_), picture.divisor_names(_)
    with st.container(horizontal=True):
        label = _("Quantity")
        choose("score_measure", label, ScoreMeasure, label_of=lambda n: measures[ScoreMeasure(n)])
        choose("divisor", _("Scores"), Divisor, label_of=lambda n: divisors[Divisor(n)])
    show(picture.curve, *values, facts=random_facts, key="random_scores")
    text = _("Random queries and keys with entries from N(0, 1) (seed {seed}); 16 keys, no mask.")
    note(text.format(seed=run.seed))
