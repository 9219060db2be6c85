"""Text whose entropy is known: how low the loss can go, and which floor the fit finds."""

from functools import lru_cache
from math import log
from typing import NamedTuple

import numpy as np
import pandas as pd

from blocks.corpora import markov
from blocks.corpora.markov import MarkovSource, markov_source
from blocks.cost.scaling_laws import Counted
from blocks.model.faults import N_
from blocks.observe.run import Run
from blocks.scaling import plan
from blocks.scaling.lab import ValleyFacts, valley_facts
from blocks.training.markov import MarkovTask
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Level, Look, dots, line
from pages.page.declared import Panel
from pages.panels.scaling import shared
from pages.panels.scaling.charts import flops_axis
from pages.panels.scaling.shared import says_band
from pages.show.parts import Note, Say, Shown, Table
from pages.state.values import State
from pages.words.language import _, sentences

FAR = 1e4  # times the largest budget: how far the law is drawn
N_DRAWN = 60


class FloorFacts(NamedTuple):
    """The law of the recorded runs, and what is exactly known of their text, in nats a token."""

    lab: ValleyFacts
    source: MarkovSource
    least_loss: float

    @property
    def is_inside(self) -> bool:
        """Whether the true floor lies in the band of the fitted one."""
        floor = self.lab.fit.floor
        return floor.least <= self.least_loss <= floor.most

    @property
    def miss(self) -> float:
        """By how much the fitted floor is off, relative."""
        return self.lab.fit.law.floor / self.least_loss - 1


@lru_cache(maxsize=4)
def floor_facts(runs: shared.Runs, counted: Counted) -> FloorFacts:
    """The fitted floor of these runs beside the true one."""
    lab = valley_facts([run.trained(counted) for run in runs])
    return FloorFacts(lab, markov_source(), plan.floor())


def says_floor(facts: FloorFacts) -> str:
    """Both floors, and whether the band holds the true one."""
    text = _(
        "This text has a known entropy: no model of any size can reach a loss below {true:.4f} "
        "nats per token here. The law fitted to {n} small trainings puts the floor at E = "
        "{fitted}, which is {miss:+.1%} off."
    )
    said = text.format(
        true=facts.least_loss,
        n=len(facts.lab.runs),
        fitted=says_band(facts.lab.fit.floor, 3),
        miss=facts.miss,
    )
    verdict = _("The band does not hold the true floor: far from its runs, the law bends.")
    if facts.is_inside:
        verdict = _("The band holds the true floor.")
    return sentences(said, verdict)


def says_known(facts: FloorFacts) -> str:
    """What exactly is known, and of what."""
    text = _(
        "Each of {n} symbols is drawn with a known probability that depends on the two before it "
        "(a Markov source of second order, Shannon 1948), and a token is a symbol. The entropy "
        "rate is Σ P(a, b) · H(next | a, b) = {rate:.4f} nats per token. In rows of {seq_len} "
        "tokens the first prediction sees one symbol only, where {one:.4f} is the least, so the "
        "least mean loss is {least:.4f}."
    )
    source = facts.source
    return text.format(
        n=source.n_symbols,
        rate=source.entropy_rate,
        seq_len=plan.SEQ_LEN,
        one=source.entropy_after_one,
        least=facts.least_loss,
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
            dots("loss", Look(_("best training of a budget"), palette.PINNED, size=9), rows=best),
        ],
        hover="{flops:.1e} FLOPs: {y:.4f}",
        legend=Legend.FOOT,
        tall=330,
        levels=[
            Level(
                y=facts.least_loss, name=_("entropy: the least possible loss"), color=palette.NORM
            ),
            Level(y=law.floor, name=_("fitted E"), color=palette.ATTENTION, dash="dot"),
            Level(y=source.entropy_after_one, name=_("best bigram"), dash="dot"),
        ],
    )


def _decade(flops: float) -> float:
    """Budgets that are nearly the same, as one."""
    return round(4 * float(np.log10(flops)))


def level_rows(facts: FloorFacts) -> pd.DataFrame:
    """What a reader can come to at best who sees so much of the text."""
    source = facts.source
    rows = [
        (_("nothing: all symbols are alike"), log(source.n_symbols)),
        (_("how often each symbol stands"), source.entropy_of_one),
        (_("the symbol before (a bigram)"), source.entropy_after_one),
        (_("both symbols before, where there are two"), facts.least_loss),
        (_("both symbols before, in an endless text"), source.entropy_rate),
    ]
    return pd.DataFrame(
        {
            _("what is known"): [name for name, _nats in rows],
            _("least loss, nats per token"): [f"{nats:.4f}" for _name, nats in rows],
            _("equally likely tokens"): [f"{np.exp(nats):.1f}" for _name, nats in rows],
        }
    )


def at(_run: Run, state: State) -> tuple[shared.Runs, Counted] | None:
    """The runs that ship."""
    runs = shared.recorded_runs()
    return (runs, shared.counted(state)) if runs else None


PANEL = Panel(
    "floor",
    N_("How low can the loss go?"),
    of_this_run=False,
    reads_input=False,
    concepts=("known_entropy", "surprise"),
    code=(MarkovSource.least_loss, markov.markov_source, MarkovTask.score),
    at=at,
    facts=floor_facts,
    shows=(
        Say(says_floor),
        Shown(floor_chart, "floor_chart"),
        Note(says_known),
        Table(level_rows, "floor_levels"),
    ),
)
