"""The logit lens: what the model would say if it stopped after each layer."""

from functools import lru_cache, partial
from typing import cast

import pandas as pd

from blocks.inspection import lens
from blocks.inspection.head_facts import Window
from blocks.inspection.lens import Lens, LensFacts
from blocks.model.models import Encoder
from blocks.observe.run import Run
from pages.figures.counting import from_one, told_apart
from pages.panels.gpt import logit_lens_picture
from pages.panels.gpt.logit_lens_picture import layer_name
from pages.ui import cached, labelled, phone, present, tokens
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, literal, sentences
from pages.ui.numbers import percent
from pages.ui.said import say
from pages.ui.tables import show_table
from pages.ui.views import pin_token


@lru_cache(maxsize=16)
def lens_of(run: Run, positions: Window) -> Lens:
    """What the model would say after each layer, at these positions."""
    model, seen = cast(Encoder, cached.model(run)), cached.recording(run)
    return lens.logit_lens(model, seen, positions.rows)


def lens_facts(run: Run, position: int, is_narrow: bool = False) -> LensFacts:
    """The lens around the position that is looked at."""
    found = lens_of(run, LensFacts.drawn_of(run, position))
    return LensFacts(run, found, position, partial(tokens.label, run), is_narrow)


def whole_table(run: Run) -> pd.DataFrame:
    """The lens of the whole text, to take away."""
    n = run.input.shape[1]
    return lens.lens_table(run, lens_of(run, Window(0, n, n)), partial(tokens.label, run))


def table(facts: LensFacts) -> pd.DataFrame:
    """Every layer at the pinned token."""
    found = facts.by_layer
    return pd.DataFrame(
        {
            _("layer"): [layer_name(layer, _) for layer in found["layer"]],
            _("top token"): found["says"],
            _("probability"): [percent(share) for share in found["probability"]],
            _("rank of the final answer"): found["rank"],
        }
    )


def says_decided(facts: LensFacts) -> str:
    """From which layer on the final answer stands first."""
    text = _("At the pinned token {token}, the answer {answer} ranks first from “{layer}” on.")
    said = text.format(
        token=literal(told_apart(facts.run.input.labels)[facts.pinned]),
        answer=literal(facts.answer),
        layer=layer_name(facts.decided, _),
    )
    before = _("Before the first layer it was at rank {rank:,} of {vocab_size:,}.")
    sizes = {"rank": facts.rank_before, "vocab_size": facts.run.config.vocab_size}
    return sentences(said, before.format(**sizes))


def says_grid(facts: LensFacts) -> str:
    """How to read the grid, and which part of it is shown."""
    said = [
        _(
            "The number after # is the rank of the final answer at this layer; #1 means it "
            "already ranks first."
        )
    ]
    if facts.is_narrow:
        said.append(_("The darker a cell, the more probable its token."))
    drawn = facts.drawn
    if not drawn.is_whole:
        text = _(
            "Positions {first} to {last} of {n} are shown; pin another token to see the others."
        )
        said.append(text.format(first=from_one(drawn.first), last=drawn.end, n=drawn.n))
    if len(facts.layers) < facts.n_layers:
        text = _(
            "{shown} of {n} layers are shown; the curve and the table below include all of them."
        )
        said.append(text.format(shown=len(facts.layers), n=facts.n_layers))
    return sentences(*said)


@section
def what_each_layer_says(run: Run) -> None:
    """The sentence and the grid."""
    values = run, labelled.pinned_token(run), phone.is_phone()
    with explained(("logit_lens",), (lens.logit_lens,), key="lens"):
        say(says_decided, *values, facts=lens_facts)
    draw = logit_lens_picture.grid
    show(draw, *values, facts=lens_facts, key="lens_grid", on_click=pin_token, room=510)
    if present.is_on():
        return
    facts = lens_facts(*values)
    note(says_grid(facts))
    left, right = columns([6, 5])
    with left:
        show(logit_lens_picture.ranks, *values, facts=lens_facts, key="lens_ranks")
    with right:
        show_table(table(facts), key="lens_table", n_names=2, height=300)
