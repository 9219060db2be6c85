"""Why scores are divided by √d_head: with and without, in one head and in random vectors."""

from functools import lru_cache

import pandas as pd

from blocks.inspection import scaling, source
from blocks.inspection.scaling import ScalingFacts
from blocks.observe.run import Run
from pages.panels.attention import scaling_picture, shared
from pages.ui import labelled, link
from pages.ui.chart import columns, show
from pages.ui.controls import switch
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.said import say


@lru_cache(maxsize=16)
def random_sharpness(run: Run) -> pd.DataFrame:
    """Sharpness of random queries and keys of every width, under the run's mask."""
    first = run.config.attention_layers[0]
    return scaling.random_sharpness(shared.attention(run, first).mask, run.seed)


@lru_cache(maxsize=32)
def scaling_facts(
    run: Run, layer: int, head: int, query: int, is_scaled: bool = True
) -> ScalingFacts:
    """One head with its scores divided and not, beside random vectors."""
    steps = shared.attention(run, layer)
    return ScalingFacts(
        head=shared.head_facts(run, layer, head, query),
        divided=scaling.sharpness_of(steps, head, is_scaled=True),
        undivided=scaling.sharpness_of(steps, head, is_scaled=False),
        random=random_sharpness(run),
        is_scaled=is_scaled,
    )


def says_division(facts: ScalingFacts) -> str:
    """What the division does to this head."""
    if len(facts.head.labels) == 1:
        return _("A single token has nothing to choose from: its weight on itself is 1 either way.")
    text = _(
        "Without ÷ √{d_head}, the largest weight in {head} would average {without:.0%} "
        "instead of {with_it:.0%}; entropy would go from {bits:.2f} to {bits_without:.2f} "
        "bits, and the slope of softmax from {slope:.2f} to {slope_without:.2f}."
    )
    return text.format(
        d_head=facts.head.steps.d_head,
        head=shared.head_called(facts.head.layer, facts.head.head),
        with_it=facts.divided.largest_weight,
        without=facts.undivided.largest_weight,
        bits=facts.divided.entropy_bits,
        bits_without=facts.undivided.entropy_bits,
        slope=facts.divided.slope,
        slope_without=facts.undivided.slope,
    )


def says_random(facts: ScalingFacts) -> str:
    """How the curves were drawn, and what they say at their ends."""
    text = _(
        "The curves are computed from random q and k with entries from N(0, 1) (seed {seed}),"
        " under this run's mask. The dot product of two such vectors has standard deviation "
        "√d_head: {least:.1f} at d_head = 1 and {most:.1f} at 512; divided by √d_head, it "
        "stays at {scaled:.1f}."
    )
    return text.format(
        seed=facts.head.run.seed,
        least=facts.random_spread(False, 1),
        most=facts.random_spread(False, 512),
        scaled=facts.random_spread(True, 512),
    )


@section
def why_divide(run: Run) -> None:
    """The switch, the row of the pinned token, and the curves."""
    at = labelled.selection(run)
    code = (*source.heads_source(), scaling.sharpness)
    with explained(("scaling",), code, key="scaling"):
        say(says_division, run, *at, facts=scaling_facts)
    switch(
        "is_scaled",
        _("Divide the scores by √d_head"),
        help=_(
            "When this is off, scores are not divided; queries, keys and the run itself stay "
            "the same."
        ),
    )
    values = run, *at, link.value("is_scaled")
    left, right = columns([5, 7])
    with left:
        show(scaling_picture.row, *values, facts=scaling_facts, key="scaled_row")
    with right:
        show(scaling_picture.curves, *values, facts=scaling_facts, key="scaling_curves")
    facts = scaling_facts(*values)
    if said := shared.says_window(facts.head, facts.head.drawn(scaling_picture.MOST_KEYS)):
        note(said)
    note(says_random(facts))
