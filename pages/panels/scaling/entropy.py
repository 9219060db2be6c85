"""Text whose entropy is known: how low the loss can go, and which floor the fit finds."""

from functools import lru_cache
from math import log
from typing import NamedTuple

import numpy as np
import pandas as pd

from blocks.corpora import markov
from blocks.corpora.markov import MarkovSource, markov_source
from blocks.corpora.stories import Language
from blocks.corpora.stories_en import ENGLISH
from blocks.cost.scaling_laws import Counted
from blocks.model.faults import N_
from blocks.observe.run import Run
from blocks.scaling import plan
from blocks.scaling.band import FEWEST_BUDGETS, fitted
from blocks.scaling.lab import ValleyFacts, valley_facts
from blocks.scaling.recorded import held_out
from blocks.scaling.story_entropy import story_entropy, story_rate
from blocks.scaling.valleys import flops_of
from blocks.training.markov import MarkovTask
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Level, Look, band, dots, line
from pages.page.declared import Panel
from pages.panels.scaling import shared
from pages.panels.scaling.charts import ROOM, flops_axis
from pages.panels.scaling.shared import says_band
from pages.show.parts import Beside, Note, Say, Shown, Table
from pages.state.values import State
from pages.words.language import _, sentences

FAR = 1e4  # times the largest budget: how far the law is drawn
N_DRAWN = 60


class FloorFacts(NamedTuple):
    """The law of the recorded runs, and what is exactly known of their text, in nats a token.

    `floors`: for each largest budget, in FLOPs, the floor that is fitted to no larger run.
    """

    lab: ValleyFacts
    source: MarkovSource
    least_loss: float
    floors: pd.DataFrame

    @property
    def is_inside(self) -> bool:
        floor = self.lab.fit.floor
        return floor.least <= self.least_loss <= floor.most

    @property
    def misses(self) -> pd.Series:
        return self.floors["value"] - self.least_loss

    @property
    def miss(self) -> float:
        return self.lab.fit.law.floor / self.least_loss - 1


@lru_cache(maxsize=4)
def floor_facts(runs: shared.Runs, counted: Counted) -> FloorFacts:
    """The fitted floor of these runs beside the true one."""
    budgets = shared.by_budget(runs, counted)
    rows = []
    for k in range(FEWEST_BUDGETS, len(budgets) + 1):
        cheaper = [run for budget in budgets[:k] for run in budget]
        rows.append({"flops": max(map(flops_of, cheaper)), **fitted(cheaper).floor._asdict()})
    lab = valley_facts([run for budget in budgets for run in budget])
    return FloorFacts(lab, markov_source(), plan.floor(), pd.DataFrame(rows))


def says_floor(facts: FloorFacts) -> str:
    """Both floors, and whether the band holds the true one."""
    text = _(
        "This text has a known entropy: no model of any size can reach a loss below "
        "{true:.4f} nats per token here. The law fitted to {n} small runs puts the floor at E"
        " = {fitted}, which is {miss:+.1%} off."
    )
    said = text.format(
        true=facts.least_loss,
        n=len(facts.lab.runs),
        fitted=says_band(facts.lab.fit.floor, 3),
        miss=facts.miss,
    )
    if facts.is_inside:
        return sentences(said, _("The band contains the true floor."))
    verdict = _(
        "The band does not contain the true floor, because it shows only how much the fit "
        "varies with the runs, not how wrong the form of the law is. As larger budgets are "
        "added to the fit, the floor is off by {misses} nats."
    )
    misses = " · ".join(map("{:+.3f}".format, facts.misses))
    return sentences(said, verdict.format(misses=misses))


def says_band_of(facts: FloorFacts) -> str:
    """What the band holds."""
    return _(
        "The 90% band contains nine in ten of {n} fits, each to runs resampled after one "
        "budget or the cheapest ones were left out. It would contain the true value if losses"
        " followed the law exactly; here the exponents change slowly with size, so E is off "
        "to one side."
    ).format(n=len(facts.lab.fit.others))


def says_known(facts: FloorFacts) -> str:
    """What exactly is known, and of what."""
    text = _(
        "Each of {n} symbols is drawn with a known probability that depends on the two before"
        " it (a Markov source of second order, Shannon 1948), and a token is a symbol. The "
        "entropy rate is Σ P(a, b) · H(next | a, b) = {rate:.4f} nats per token. In rows of "
        "{seq_len} tokens, the first prediction sees only one symbol, for which the lowest "
        "possible loss is {one:.4f}, so the lowest possible mean loss is {least:.4f}."
    )
    source = facts.source
    return text.format(
        n=source.n_symbols,
        rate=source.entropy_rate,
        seq_len=plan.SEQ_LEN,
        one=source.entropy_after_one,
        least=facts.least_loss,
    )


def says_stories(_facts: FloorFacts) -> str:
    """The same of the stories of Training."""
    text = _(
        "The entropy of the stories on the Training page is also known: {story:.1f} nats for "
        "a whole English story, the sum over all choices of its grammar. This is {en:.3f} "
        "nats per token ({zh:.3f} in Chinese), which only a model that reads whole stories "
        "can reach; a window that begins inside a story leaves more uncertainty."
    )
    return text.format(
        story=story_entropy(ENGLISH),
        en=story_rate(Language.ENGLISH),
        zh=story_rate(Language.CHINESE),
    )


def floor_chart(facts: FloorFacts) -> Chart:
    """The best run of each budget, what the law expects far beyond, and levels that are known."""
    lab, source = facts.lab, facts.source
    best = lab.table.loc[lab.table.groupby(lab.table["flops"].map(_decade))["loss"].idxmin()]
    least, most = lab.budgets
    flops = np.geomspace(least, most * FAR, N_DRAWN)
    law = lab.fit.law
    sizes = [law.scale * each**law.power for each in flops]
    losses = [law.loss(n, c / 6 / n) for n, c in zip(sizes, flops, strict=True)]
    curve = pd.DataFrame({"flops": flops, "loss": losses})
    return Chart(
        _("The best loss of each budget, and the floor"),
        curve,
        flops_axis(curve["flops"]),
        Axis(_("loss, nats per token")),
        [
            line("loss", Look(_("the law at the best size"), palette.ATTENTION)),
            dots("loss", Look(_("best run of a budget"), palette.PINNED, size=9), rows=best),
        ],
        hover="{flops:.1e} FLOPs: {y:.4f}",
        legend=Legend.FOOT,
        tall=330,
        levels=[
            Level(
                y=facts.least_loss,
                name=_("entropy: the lowest possible loss"),
                color=palette.NORM,
                is_named_right=True,
            ),
            Level(y=law.floor, name=_("fitted E"), color=palette.ATTENTION, dash="dot"),
            Level(
                y=source.entropy_after_one, name=_("best bigram"), dash="dot", is_named_right=True
            ),
        ],
    )


def approach_chart(facts: FloorFacts) -> Chart:
    """The fitted floor, as larger and larger runs are given to the fit."""
    rows = facts.floors
    return Chart(
        _("The fitted floor, by the largest budget in the fit"),
        rows,
        flops_axis(rows["flops"]),
        Axis(_("fitted E, nats per token")),
        [
            band("least", "most", palette.ATTENTION),
            line("value", Look(_("fitted E, with its 90% band"), palette.ATTENTION, "circle")),
        ],
        hover="{flops:.1e} FLOPs: {y:.4f}",
        legend=Legend.FOOT,
        tall=330,
        levels=[
            Level(
                y=facts.least_loss, name=_("entropy: the lowest possible loss"), color=palette.NORM
            )
        ],
    )


def _decade(flops: float) -> float:
    return round(4 * float(np.log10(flops)))


def level_rows(facts: FloorFacts) -> pd.DataFrame:
    """What a reader can come to at best who sees so much of the text."""
    source = facts.source
    rows = [
        (_("nothing: all symbols are equally likely"), log(source.n_symbols)),
        (_("how often each symbol occurs"), source.entropy_of_one),
        (_("the preceding symbol (a bigram)"), source.entropy_after_one),
        (_("the two preceding symbols, where they exist"), facts.least_loss),
        (_("the two preceding symbols, in an endless text"), source.entropy_rate),
    ]
    return pd.DataFrame(
        {
            _("what is known"): [name for name, _nats in rows],
            _("lowest loss, nats per token"): [f"{nats:.4f}" for _name, nats in rows],
            _("equally likely tokens"): [f"{np.exp(nats):.1f}" for _name, nats in rows],
        }
    )


def at(_run: Run, state: State) -> tuple[shared.Runs, Counted] | None:
    runs = (*shared.recorded_runs(), *held_out())
    return (runs, shared.counted(state)) if runs else None


PANEL = Panel(
    "floor",
    N_("How low can the loss go?"),
    of_this_run=False,
    reads_input=False,
    concepts=("known_entropy", "surprise"),
    code=(MarkovSource.least_loss, markov.markov_source, MarkovTask.score, story_entropy),
    at=at,
    facts=floor_facts,
    shows=(
        Say(says_floor),
        Beside(
            Shown(floor_chart, "floor_chart", room=ROOM),
            Shown(approach_chart, "floor_approach", room=ROOM),
        ),
        Note(says_band_of),
        Note(says_known),
        Note(says_stories),
        Table(level_rows, "floor_levels"),
    ),
)
