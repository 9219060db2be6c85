"""Sinks set apart: which tokens these are in a run, the switch, and how it is said."""

from functools import lru_cache

import pandas as pd

from blocks.inspection.head_facts import on_sinks
from blocks.inspection.sinks import Sinks, find_sinks, query_step
from blocks.observe.run import Run
from pages.figures.counting import from_one, told_apart
from pages.server import cached
from pages.words.language import _, bracketed, enumeration, literal, sentences

MOST_NAMED = 6


@lru_cache(maxsize=64)
def found_in(run: Run) -> Sinks:
    """The sinks of a run."""
    seen = cached.recording(run)  # takes a turn of its own
    with cached.turn(run.device):
        return find_sinks(run, seen)


def set_apart(run: Run, is_apart: bool) -> tuple[int, ...]:
    """The tokens that numbers and scales leave out; none where they are not apart, or not found.

    A run of these tokens alone has nothing that could be set apart from.
    """
    tokens = found_in(run).tokens if is_apart else ()
    return tokens if len(tokens) < len(run.input.labels) - run.input.n_padding else ()


def with_shares(heads: pd.DataFrame, run: Run, is_apart: bool) -> pd.DataFrame:
    """The measures of heads, with the share that rests on sinks where these are set apart."""
    tokens = set_apart(run, is_apart)
    if not tokens:
        return heads
    digests = {layer: cached.heads_digest(run, int(layer)) for layer in heads["layer"].unique()}
    shares = {layer: on_sinks(each.received.all, tokens) for layer, each in digests.items()}
    rows = zip(heads["layer"], heads["head"], strict=True)
    return heads.assign(on_sinks=[float(shares[layer][head]) for layer, head in rows])


def says_apart(run: Run, is_apart: bool) -> str:
    """Which tokens are set apart, or would be."""
    text = _(
        "The values of these tokens are far larger than those of all others, and the numbers "
        "here include them: {tokens}."
    )
    if is_apart:
        text = _(
            "These tokens are set apart, because their values or the attention they receive "
            "are far larger than those of all others: {tokens}. Means, scales and rankings "
            "here are those of the other tokens."
        )
    return sentences(text.format(tokens=names(run, found_in(run).tokens)), _says_sample(run))


def _says_sample(run: Run) -> str:
    """That of a long text some queries alone say where attention rests; empty of any other."""
    n, step = run.input.shape[1], query_step(run)
    if step == 1:
        return ""
    return _(
        "In a text this long, the attention that tokens receive is measured on a sample of "
        "the queries: {shown} of {n:,}, one in {step}."
    ).format(shown=len(range(0, n, step)), n=n, step=step)


def names(run: Run, tokens: tuple[int, ...]) -> str:
    """Some tokens with their places in the text, the first few of many."""
    labels = told_apart(run.input.labels)
    shown = [bracketed(literal(labels[i]), from_one(i)) for i in tokens[:MOST_NAMED]]
    more = [_("{n} more").format(n=len(tokens) - MOST_NAMED)] if len(tokens) > MOST_NAMED else []
    return enumeration((*shown, *more))
