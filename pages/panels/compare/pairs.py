"""Pairs to begin with: A and B set at once, by one button."""

from typing import NamedTuple

import streamlit as st

from blocks.model.faults import N_
from pages.stage import kept, link
from pages.state.link_fields.compare import Kept
from pages.words.language import _

Query = dict[str, str]
_SMALL: Query = {"preset": "fast", "initialization": "pytorch"}
_DEEP: Query = {**_SMALL, "n_layers": "12"}
_WIDE: Query = {**_SMALL, "d_model": "256", "n_heads": "8"}


class ReadyPair(NamedTuple):
    """Two configurations that differ in one thing worth seeing, and what to look at."""

    title: str
    why: str
    a: Query
    b: Query


PAIRS = {
    "norm_placement": ReadyPair(
        N_("Pre-norm and post-norm"),
        N_("12 layers, random weights: does the residual stream grow?"),
        {**_DEEP, "norm_placement": "pre"},
        {**_DEEP, "norm_placement": "post"},
    ),
    "sharing": ReadyPair(
        N_("MHA and GQA"),
        N_("8 key/value heads or 2: what becomes smaller?"),
        {**_WIDE, "n_kv_heads": "8"},
        {**_WIDE, "n_kv_heads": "2"},
    ),
    "trained": ReadyPair(
        N_("Before and after training"),
        N_("The same small GPT: what do its heads attend to before and after?"),
        {"preset": "stories-en-zh", "weights": "random"},
        {"preset": "stories-en-zh"},
    ),
    "published": ReadyPair(
        N_("GPT-2 and SmolLM2"),
        N_("Similar size, 2019 and 2024: what has changed?"),
        {"preset": "gpt2-small"},
        {"preset": "smollm2-135m"},
    ),
}


def set_pair(name: str) -> None:
    """Keep the first as A and set the second as B; text and seed stay."""
    pair = PAIRS[name]
    a, b = (Kept("", tuple(query.items())) for query in (pair.a, pair.b))
    kept.add([kept.as_it_is(a)], becomes_a=True)
    link.become(kept.values_with(b))


def ready_pairs() -> None:
    """A and B at once, by one button each."""
    with st.container(horizontal=True):
        for name, pair in PAIRS.items():
            st.button(
                _(pair.title),
                icon=":material/compare_arrows:",
                help=_(pair.why),
                key=f"pair_{name}",
                on_click=set_pair,
                args=(name,),
            )
