"""Pairs to begin with: A and B set at once, by one button."""

from typing import NamedTuple

from blocks.faults import N_
from pages.ui import link
from pages.ui.compare import kept
from pages.ui.compare.fields import Kept
from pages.ui.language import _

Query = dict[str, str]
_SMALL: Query = {"preset": "fast", "initialization": "pytorch"}
_DEEP: Query = {**_SMALL, "n_layers": "12"}
_WIDE: Query = {**_SMALL, "d_model": "256", "n_heads": "8"}


class ReadyPair(NamedTuple):
    """Two configurations that differ in one thing worth seeing, and what to look at."""

    title: str
    why: str
    a: tuple[str, Query]
    b: tuple[str, Query]


PAIRS = {
    "norm_placement": ReadyPair(
        N_("Pre-norm against post-norm"),
        N_("12 layers, random weights: does the stream grow?"),
        (N_("pre-norm"), {**_DEEP, "norm_placement": "pre"}),
        (N_("post-norm"), {**_DEEP, "norm_placement": "post"}),
    ),
    "sharing": ReadyPair(
        N_("MHA against GQA"),
        N_("8 heads of keys and values, or 2: what becomes smaller?"),
        ("MHA", {**_WIDE, "n_kv_heads": "8"}),
        ("GQA", {**_WIDE, "n_kv_heads": "2"}),
    ),
    "trained": ReadyPair(
        N_("Before training against after"),
        N_("The same small GPT: where do its heads read now?"),
        (N_("before training"), {"preset": "stories-en-zh", "weights": "random"}),
        (N_("after training"), {"preset": "stories-en-zh"}),
    ),
    "published": ReadyPair(
        N_("GPT-2 against SmolLM2"),
        N_("Of one size, 2019 and 2025: what has changed?"),
        ("GPT-2 small", {"preset": "gpt2-small"}),
        ("SmolLM2 135M", {"preset": "smollm2-135m"}),
    ),
}


def set_pair(name: str) -> None:
    """Keep the first as A and set the second as B; text and seed stay."""
    pair = PAIRS[name]
    called, query = pair.a
    kept.add([Kept(_(called), tuple(query.items()))])
    link.become(kept.values_with(Kept("", tuple(pair.b[1].items()))))
