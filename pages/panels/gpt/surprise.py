"""What surprises the model: loss and surprise at each token of the text."""

from functools import lru_cache

import pandas as pd
import streamlit as st

from blocks.inspection import predictions
from blocks.inspection.predictions import SurpriseFacts
from blocks.observe.run import Run
from pages.figures.counting import from_one, told_apart
from pages.panels.gpt import shared, surprise_picture
from pages.ui import cached, labelled, link, tokens
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.fields import START, TEXT
from pages.ui.frame import section
from pages.ui.language import _, literal, sentences
from pages.ui.numbers import percent
from pages.ui.said import say
from pages.ui.tables import show_table
from pages.ui.views import pin_token


@lru_cache(maxsize=32)
def surprise_facts(run: Run, pinned: int) -> SurpriseFacts:
    """How surprised the model was by each token."""
    return predictions.surprise_facts(run, cached.recording(run).output[0], pinned)


def says_loss(facts: SurpriseFacts) -> str:
    """Loss and perplexity."""
    text = _(
        "The mean loss is {nats:.2f} nats ({bits:.2f} bits) per token, a perplexity of "
        "{perplexity:,.1f}: the model is as uncertain as if it chose among {perplexity:,.1f} "
        "equally likely tokens. A uniform guess over all {vocab_size:,} would cost {even:.2f}"
        " bits."
    )
    if facts.is_worse_than_a_guess:
        text = _(
            "The mean loss is {nats:.2f} nats ({bits:.2f} bits) per token, a perplexity of "
            "{perplexity:,.1f}. This is worse than a uniform guess over all {vocab_size:,} "
            "tokens, which would cost {even:.2f} bits."
        )
    said = text.format(
        nats=facts.nats,
        bits=facts.bits,
        perplexity=facts.perplexity,
        vocab_size=facts.run.config.vocab_size,
        even=facts.guess_bits,
    )
    return sentences(said, _most_surprising(facts), _without_first(facts))


def _most_surprising(facts: SurpriseFacts) -> str:
    most = facts.most
    text = _(
        "The most surprising token is {token} at position {position}: {bits:.2f} bits, "
        "probability {share}, rank {rank:,}."
    )
    return text.format(
        token=literal(told_apart(facts.run.input.labels)[int(most["position"])]),
        position=from_one(most["position"]),
        bits=most["bits"],
        share=percent(most["probability"]),
        rank=int(most["rank"]),
    )


def _without_first(facts: SurpriseFacts) -> str:
    """Where the first guess weighs most, the mean of the others."""
    rest = facts.bits_after_first
    if rest is None:
        return ""
    text = _(
        "That is the first prediction, made from a single token; the others cost {bits:.2f} "
        "bits on average."
    )
    return text.format(bits=rest)


def is_long(facts: SurpriseFacts) -> bool:
    """Whether there are more tokens than the picture names."""
    return len(facts.tokens) > surprise_picture.NAMES


def table(facts: SurpriseFacts) -> pd.DataFrame:
    """Every token with its surprise; of a long text the most surprising first."""
    found = facts.table()
    if is_long(facts):
        found = found.sort_values("bits", ascending=False, kind="stable", ignore_index=True)
    return pd.DataFrame(
        {
            _("position"): found["position"],
            _("token"): found["label"],
            _("surprisal (bits)"): found["bits"].round(3),
            _("probability"): found["probability"].map(percent),
            _("rank"): found["rank"],
        }
    )


def start_token() -> None:
    """Whether the text begins with what the model knows as the beginning of one."""
    if START not in tokens.prompts():
        return
    is_there = tokens.prompt() == START
    label = _("Without a start token") if is_there else _("Begin the text with {token}")
    st.button(
        label.format(token=literal(tokens.start_token())),
        icon=":material/start:",
        key="start_token",
        help=_(
            "Then the first token of the text has a surprisal too, and the second is "
            "predicted from more than one token."
        ),
        on_click=link.change,
        args=("prompt", TEXT if is_there else START),
    )


@section
def what_surprises(run: Run) -> None:
    """The sentence, the bars, the table."""
    values = run, labelled.pinned_token(run)
    facts = surprise_facts(*values)
    start_token()
    place = explained(("surprise",), (predictions.surprise,), key="surprise")
    if facts.tokens.empty:
        text = _(
            "Surprisal needs at least two tokens, since nothing precedes the first. Type a longer"
            " text."
        )
        place.info(text, icon=":material/lightbulb:")
        return
    if said := shared.says_ahead(run):
        note(said)
    with place:
        say(says_loss, *values, facts=surprise_facts)
    left, right = (st.container(), st.container()) if is_long(facts) else columns([7, 4])
    with left:
        draw = surprise_picture.bars
        show(draw, *values, facts=surprise_facts, key="surprise_bars", on_click=pin_token)
    with right:
        if is_long(facts):
            note(_("The table begins with the most surprising tokens."))
        show_table(table(facts), key="surprise_table", n_names=2, height=330)
