"""For somebody who knows nothing yet: what a Transformer, a token and a layer are, on this text."""

import streamlit as st

from blocks.inspection.next_token import NextFacts
from blocks.observe.run import Run
from pages.figures.counting import read_apart
from pages.words.language import _, literal, ngettext, sentences
from pages.words.numbers import percent


def in_three_sentences(run: Run, facts: NextFacts) -> None:
    """Said where the text is typed, above the picture that shows it."""
    st.markdown(sentences(_transformer(run, facts), _tokens(run), _layers(run)))


def _transformer(run: Run, facts: NextFacts) -> str:
    text = _(
        "This model is a **Transformer** that guesses how a text goes on; it has learned "
        "nothing yet, so it guesses blindly."
    )
    if run.weights:
        text = _(
            "This model is a **Transformer** that has learned from many texts to guess how a "
            "text goes on; after {token}, it considers {next} most likely ({chance})."
        )
    after, following = map(literal, read_apart((facts.after, facts.likeliest["label"][0])))
    chance = percent(float(facts.likeliest["model_probability"][0]))
    return text.format(token=after, next=following, chance=chance)


def _tokens(run: Run) -> str:
    return ngettext(
        "It reads neither letters nor words but **tokens**, pieces of text from a fixed list; "
        "your text has {n} of them, the column below.",
        "It reads neither letters nor words but **tokens**, pieces of text from a fixed list; "
        "your text has {n} of them, the columns below.",
        run.input.shape[1],
    ).format(n=run.input.shape[1])


def _layers(run: Run) -> str:
    return ngettext(
        "In its {n} **layer**, every token takes in something from the tokens before it, so that "
        "the last one can guess what follows.",
        "In each of its {n} **layers**, from the bottom up, every token takes in something from "
        "the tokens before it, until the last one can guess what follows.",
        run.config.n_layers,
    ).format(n=run.config.n_layers)
