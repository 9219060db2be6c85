"""Why scores are divided by √d_head: with and without, in one head and in random vectors."""

from collections.abc import Hashable
from functools import lru_cache
from operator import attrgetter

import pandas as pd

from blocks.inspection import scaling, source
from blocks.inspection.scaling import ScalingFacts
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Look, Series, bars, dots, line
from pages.figures.counting import told_apart
from pages.figures.theme import token_label
from pages.panels.attention import shared
from pages.show.controls import switch
from pages.show.parts import Beside, Controls, File, Note, Say, Shown
from pages.state.values import State
from pages.words.language import _, fill

TALL, MOST_KEYS = 266, 64
COLORS = {True: palette.ATTENTION, False: palette.BEFORE}


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
    divided, undivided = (scaling.sharpness_of(steps, head, is_scaled=way) for way in (True, False))
    found = shared.head_facts(run, layer, head, query)
    return ScalingFacts(found, divided, undivided, random_sharpness(run), is_scaled)


def says_division(facts: ScalingFacts) -> str:
    """What the division does to this head."""
    if len(facts.head.labels) == 1:
        return _("A single token has nothing to choose from: its weight on itself is 1 either way.")
    text = _(
        "Without ÷ √{head.steps.d_head}, the largest weight in {called}, averaged over queries "
        "with at least two allowed keys, would be {undivided.largest_weight:.0%} instead of "
        "{divided.largest_weight:.0%}; entropy would go "
        "from {divided.entropy_bits:.2f} to {undivided.entropy_bits:.2f} bits, and the slope of "
        "softmax from {divided.slope:.2f} to {undivided.slope:.2f}."
    )
    return fill(text, facts, called=shared.called(facts.head))


def says_window(facts: ScalingFacts) -> str:
    return shared.says_window(facts.head, facts.head.drawn(MOST_KEYS))


def says_random(facts: ScalingFacts) -> str:
    """How the curves were drawn, and what they say at their ends."""
    text = _(
        "The curves are computed from random q and k with entries from N(0, 1) (seed "
        "{head.run.seed}), under this run's mask. The dot product of two such vectors has standard "
        "deviation √d_head: {least:.1f} at d_head = 1 and {most:.1f} at 512; divided by √d_head, "
        "it stays at {scaled:.1f}."
    )
    ways = {"least": (False, 1), "most": (False, 512), "scaled": (True, 512)}
    spread = {name: facts.random_spread(*way) for name, way in ways.items()}
    return fill(text, facts, **spread)


def way_choice() -> None:
    """Divide the scores, or not."""
    text = _(
        "When this is off, scores are not divided; queries, keys and the run itself stay the same."
    )
    switch("is_scaled", _("Divide the scores by √d_head"), help=text)


def row(facts: ScalingFacts) -> Chart:
    """The weights of one query, a bar per key, and a mark where the other way has them."""
    drawn = facts.head.drawn(MOST_KEYS).rows
    tokens = told_apart(facts.head.labels)[drawn]
    ways = {"now": facts.is_scaled, "other": not facts.is_scaled}
    weights = {name: facts.weights(way)[drawn] for name, way in ways.items()}
    most = max(1e-6, *(float(each.max()) for each in weights.values()))
    other = Look(_("other setting"), palette.BEFORE, "diamond-open", size=8)
    return Chart(
        _("What the pinned token attends to"),
        {"token": [*map(token_label, tokens)], **weights},
        Axis(tokens=tokens),
        Axis(_("weight"), (0, 1.03 * most)),
        [bars("now", Look(_("current setting"), palette.ATTENTION)), dots("other", other)],
        hover="{token}: {y:.3f}",
        tall=TALL,
        gap=0.25,
    )


def curves(facts: ScalingFacts) -> Chart:
    """Entropy and largest weight against d_head, with the division and without.

    Lines are random vectors, points the head; the way that is looked at is strong.
    """
    ticks = sorted({int(d_head) for d_head in facts.random["d_head"]})
    return Chart(
        _("Entropy and largest weight against d_head"),
        facts.random,
        Axis("d_head", of="d_head", is_log=True, ticks=ticks),
        (
            Axis(_("entropy (bits)"), from_0=True),
            Axis(_("largest weight"), from_0=True, is_share=True),
        ),
        [
            each
            for is_scaled in (True, False)
            for plot, column in enumerate(("entropy_bits", "largest_weight"))
            for each in _of_one(facts, is_scaled, column, plot)
        ],
        tall=TALL,
    )


def _of_one(facts: ScalingFacts, is_scaled: bool, column: str, plot: int) -> tuple[Series, Series]:
    """Random vectors of every width, and the head."""
    is_strong, color = is_scaled == facts.is_scaled, COLORS[is_scaled]
    state = _("divided by √d_head") if is_scaled else _("not divided")
    name = _("random q and k, {state}").format(state=state)
    width, size = (3, 6) if is_strong else (1.5, 4)
    random = Look(name, color, "circle", width=width, size=size)
    symbol = "diamond" if is_strong else "diamond-open"
    called = shared.called(facts.head)
    head = Look(called, palette.PINNED, symbol, size=13, edge=color)
    rows, own = (table[table["is_scaled"] == is_scaled] for table in (facts.random, facts.both))
    value = "{y:.0%}" if plot else "{y:.2f}"
    hover, is_first = f"d_head {{x}}: {value}", plot == 0
    return (
        line(column, random, rows=rows, hover=hover, plot=plot, in_legend=is_first),
        dots(
            *(column, head),
            rows=own,
            hover=f"{called}: {value}",
            plot=plot,
            in_legend=is_strong and is_first,
        ),
    )


def at(run: Run, state: State) -> tuple[Hashable, ...]:
    return (*shared.at(run, state), state.is_scaled)


PANEL = shared.of_a_head(
    "scaling",
    N_("Why divide by √d?"),
    fields=("d_model", "n_heads", "d_head", "qk_norm"),
    concepts=("scaling",),
    code=(*source.heads_source(), scaling.sharpness),
    at=at,
    facts=scaling_facts,
    shows=(
        Say(says_division),
        Controls(way_choice),
        Beside(Shown(row, "scaled_row"), Shown(curves, "scaling_curves"), widths=(5, 7)),
        Note(says_window),
        Note(says_random),
        File(attrgetter("random"), "scaling"),
    ),
)
