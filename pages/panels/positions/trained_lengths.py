"""Five small models, each with one encoding, trained on short texts and reading longer ones."""

from typing import cast

import pandas as pd

from blocks.inspection import trained_lengths
from blocks.inspection.trained_lengths import LengthsFacts
from blocks.model.faults import N_
from blocks.model.kinds import PositionKind
from blocks.observe.run import Run
from blocks.training import lengths
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Level, Look, Series, band, line
from pages.page.declared import Panel
from pages.show import words
from pages.show.parts import Note, Say, Shown
from pages.words import terms
from pages.words.language import _, enumeration, fill, sentences

LOOKS = {
    PositionKind.NONE: (palette.BEFORE, "circle"),
    PositionKind.SINUSOIDAL: (palette.FEED_FORWARD, "square"),
    PositionKind.LEARNED: (palette.EMBEDDING, "diamond"),
    PositionKind.ROPE: (palette.ATTENTION, "cross"),
    PositionKind.ALIBI: (palette.NORM, "triangle-up"),
}


def lengths_facts() -> LengthsFacts:
    """As trained; only where all runs ship."""
    return cast(LengthsFacts, trained_lengths.lengths_facts())


def says_lengths(facts: LengthsFacts) -> str:
    """What the best and the worst encoding make of longer texts."""
    text = _(
        "Five models were trained on texts of {trained_len} characters and then read texts of"
        " {longest}. Beyond the trained length, the loss of {best} goes from {a.inside:.2f} "
        "to {a.beyond:.2f} bits per character on average, and that of {worst} from "
        "{z.inside:.2f} to {z.beyond:.2f}."
    )
    best, worst = facts.kinds[0], facts.kinds[-1]
    called = (_("“{kind}”").format(kind=terms.option(each.kind)) for each in (best, worst))
    return fill(text, facts, a=best, z=worst, **dict(zip(("best", "worst"), called, strict=True)))


def says_how(facts: LengthsFacts) -> str:
    """What was trained, and how."""
    text = _(
        "The models have {model.n_layers} layers and d_model {model.d_model}. Each was "
        "trained on the characters of Python's documentation, with {recipe.n_steps:,} updates"
        " on {recipe.batch_size} texts each (seeds {seeds}). Lines show means over the seeds;"
        " bands range from the lowest to the highest."
    )
    said = fill(text, facts, seeds=enumeration(map(str, facts.seeds)))
    table = _(
        "The learned table has rows for all {longest} positions; those beyond the trained "
        "length keep their random initial values."
    )
    return sentences(said, fill(table, facts))


def losses(facts: LengthsFacts) -> Chart:
    """A line and a band for each kind, the trained length marked."""
    edge, series = facts.trained_len + 0.5, list[Series]()
    for found in facts.kinds:
        color, symbol = LOOKS[found.kind]
        ends = {name: getattr(found, name) for name in ("mean", "least", "most")}
        rows = pd.DataFrame({"position": facts.middles, **ends})
        look = Look(terms.option(found.kind), color, symbol)
        series += [band("least", "most", color, rows=rows), line("mean", look, rows=rows)]
    lows, highs = (min(k.least) for k in facts.kinds), (max(k.most) for k in facts.kinds)
    low, high = min(lows), max(highs)
    room = 0.06 * (high - low)
    hover = _("position {position}: {bits} bits").format(position="{x:.0f}", bits="{y:.2f}")
    return Chart(
        _("Loss by position, trained on texts of {n} characters").format(n=facts.trained_len),
        {},
        Axis(_("position in the text (from 1)"), (0, facts.longest + 1), of="position"),
        Axis(_("bits per character"), (low - room, high + room)),
        series,
        hover=f"{{name}}<br>{hover}",
        tall=260,
        levels=[Level(x=edge, name=f"L = {facts.trained_len}")],
    )


def says_none(_run: Run) -> str | None:
    return words.without_runs() if trained_lengths.lengths_facts() is None else None


PANEL = Panel(
    "trained-lengths",
    N_("Which encoding extrapolates?"),
    reads_input=False,
    of_this_run=False,
    concepts=("beyond_length", "positions"),
    code=(lengths.models, lengths.bits_by_band),
    absent=says_none,
    facts=lengths_facts,
    shows=(Say(says_lengths), Shown(losses, "trained_lengths"), Note(says_how)),
)
