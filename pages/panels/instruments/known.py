"""The models whose algorithm is known: what each says, and which parts of it do it."""

import pandas as pd

from blocks.known import compiler
from blocks.known.models import KnownFacts, compiled_model, known_facts
from blocks.known.program import Program
from blocks.known.words import ANSWERS, MODELS
from blocks.model.faults import N_
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Look, bars
from pages.figures.counting import from_one
from pages.page.declared import Panel
from pages.show.parts import Note, OffScreen, Say, Shown, Table, Text
from pages.words.language import _, fill


def says_known(facts: KnownFacts) -> str:
    """How many there are, and how it is known what they do."""
    text = _(
        "{n} models were not trained but written: each is a short program, compiled into "
        "weights. Of their {n_heads} heads, {n_needed} do the work; the others attend to "
        "something just as clearly but change nothing."
    )
    return fill(text, facts)


def table(facts: KnownFacts) -> pd.DataFrame:
    """A row a model."""
    found = facts.programs
    return pd.DataFrame(
        {
            _("model"): [_(MODELS[each.name]) for each in found],
            _("needed heads"): [_places(each) for each in found],
            _("known after layer"): [each.decides for each in found],
            _("layers × heads"): [f"{each.n_layers} × {each.n_heads}" for each in found],
            _("parameters"): [_n_parameters(each) for each in found],
            _("its output at each token"): [_(ANSWERS[each.name]) for each in found],
        }
    )


def working(facts: KnownFacts) -> Chart:
    """How many heads of each model do the work, beside those that do nothing."""
    names = [_(MODELS[each.name]) for each in facts.programs]
    rows = pd.DataFrame(
        {
            "name": names,
            "needed": [len(each.needed) for each in facts.programs],
            "others": [each.n_layers * each.n_heads - len(each.needed) for each in facts.programs],
        }
    )
    return Chart(
        _("Heads that do the work"),
        rows,
        Axis(_("heads")),
        Axis(names=names),
        [
            bars("needed", Look(_("do the work"), palette.ATTENTION)),
            bars("others", Look(_("change nothing"), palette.MASKED)),
        ],
        hover="{y}: {name} {x:,}",
        stack="stack",
        tall=24 * len(names) + 90,
        legend=Legend.ABOVE,
    )


def _places(program: Program) -> str:
    return ", ".join(
        f"{from_one(layer)}.{from_one(head)}" for layer, head in sorted(program.needed)
    )


def _n_parameters(program: Program) -> int:
    return sum(each.numel() for each in compiled_model(program.name).tensors.values())


PANEL = Panel(
    "known",
    N_("What is known?"),
    reads_input=False,
    of_this_run=False,
    at=lambda: (),
    facts=known_facts,
    concepts=("known_truth",),
    code=(compiler.compiled,),
    shows=(
        Say(says_known),
        Shown(working, "working_heads"),
        OffScreen(
            Text(N_("**Models that were written, not trained; heads are layer.head**")),
            Table(table, "known_models", counts=(4,)),
        ),
        Note(
            N_(
                "The program alone determines what a head does, which tokens an answer is "
                "taken from and after which layer it is known. On every text of a small "
                "domain, each model gives the same answers as the same algorithm in plain "
                "Python; a test compares them."
            )
        ),
    ),
)
