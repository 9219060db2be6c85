"""The source goes missing: what the decoder then expects, and what it writes."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from blocks.inspection import missing_source
from blocks.inspection.missing_source import (
    LITTLE,
    Bits,
    HiddenFacts,
    Missing,
    WaysFacts,
    moved_by_hiding,
    without_source,
)
from blocks.observe.interventions import without_cross_attention
from blocks.observe.run import Run
from blocks.text.bilingual import is_chinese
from pages.panels.seq2seq import missing_picture
from pages.panels.seq2seq.missing_picture import way_name
from pages.panels.seq2seq.search import Standing, at_end, search_facts, with_target
from pages.ui import cached, labelled, link, tokens
from pages.ui.chart import show
from pages.ui.controls import switch
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.interventions import state as changes
from pages.ui.language import _, bracketed, enumeration, literal, sentences
from pages.ui.said import say
from pages.ui.steps import in_steps
from pages.ui.tables import show_table
from pages.ui.ways import take

LATIN = re.compile(r"[A-Za-z]")


@lru_cache(maxsize=256)
def moved(run: Run, way: Missing | int) -> tuple[float, ...]:
    """Bits by which the next token moves after each token of the target."""
    changed = missing_source.changed_runs(run)[way]
    output = cached.recording(run).output[0]
    with cached.turn(run.device):
        return missing_source.moved_bits(output, changed, cached.model(run))


@lru_cache(maxsize=128)
def moved_where_hidden(run: Run, places: tuple[int, ...]) -> Bits:
    """Bits by which each next token moves where one source token is hidden: a row a place."""
    before = cached.recording(run).output[0]
    with cached.turn(run.device):
        return moved_by_hiding(run, places, cached.model(run), before)


def ways_facts(run: Run, n_ways: int, pinned: int) -> WaysFacts:
    """The source missing in the first ways."""
    ways = [*missing_source.changed_runs(run)][:n_ways]
    bits = tuple(moved(run, way) for way in ways)
    return missing_source.ways_facts(run, bits, next_labels(run), pinned)


def hidden_facts(run: Run, n_batches: int, pinned_source: int, pinned: int) -> HiddenFacts:
    """Each source token of the first batches hidden alone."""
    batches = missing_source.hidden_in_turn(run)[:n_batches]
    bits = chain.from_iterable(moved_where_hidden(run, batch) for batch in batches)
    found = np.array(tuple(bits), dtype=np.float32)
    return HiddenFacts(run.input.labels, found, next_labels(run), pinned_source, pinned)


@lru_cache(maxsize=64)
def next_labels(run: Run) -> tuple[str, ...]:
    """What came after each token of the target; after the last, what the model would write."""
    last = int(cached.recording(run).output[0, -1].argmax())
    return (*run.target_or_start.labels[1:], tokens.label(run, last))


@lru_cache(maxsize=64)
def written_blind(here: Standing, way: Missing) -> str:
    """What the same search writes without the source; nothing is forced."""
    start_only = with_target(here.search.run.untouched, ())
    blind = replace(here.search, run=without_source(start_only, way), forced=())
    return search_facts(at_end(blind)).text


def says_ways(facts: WaysFacts) -> str:
    """How much the source is worth, and where the target alone tells what comes."""
    (most, bits), (least, few) = facts.most, facts.least
    text = _(
        "Without cross-attention, the next-token prediction changes by {mean:.2f} bits (KL) "
        "on average; it changes most at {most} ({bits:.1f} bits), least at {least} "
        "({few:.2f} bits)."
    )
    said = text.format(
        mean=facts.mean, most=literal(most), bits=bits, least=literal(least), few=few
    )
    return sentences(said, _meaning(facts))


def _meaning(facts: WaysFacts) -> str:
    if facts.seed is not None:
        text = _(
            "The weights are random (seed {seed}); how to use the source has yet to be learned."
        )
        return text.format(seed=facts.seed)
    if not facts.n_little:
        return _("Every token's prediction depends on the source.")
    text = _(
        "For {n_little} of {n} tokens, the prediction hardly needs the source: without "
        "the source, it changes by less than {bits} bits."
    )
    return text.format(n_little=facts.n_little, n=len(facts.labels), bits=LITTLE)


def says_hidden(facts: HiddenFacts) -> str:
    """Which source token each target token hangs on."""
    if not facts.strong:
        return _(
            "No next-token prediction changes by more than 1 bit (KL) when a single source "
            "token is hidden."
        )
    pairs = (
        bracketed(f"{literal(target)} ← {literal(source)}", f"{bits:.1f}")
        for target, source, bits in facts.strong
    )
    text = _("Largest effects on the prediction (bits): {pairs}.")
    return text.format(pairs=enumeration(pairs))


def says_blind(texts: Sequence[str]) -> str:
    """What kind of text comes of it."""
    said = _("The same search is run without the source: the decoder becomes a language model.")
    if not any(is_chinese(text) and LATIN.search(text) for text in texts):
        return said
    return sentences(
        said, _("It does not even know which language to write in, and mixes the two.")
    )


@section
def when_the_source_is_missing(run: Run, here: Standing) -> None:
    """Cross-attention off, the source hidden or empty, and one token of it hidden at a time."""
    code = (without_source, moved_by_hiding)
    with explained(("without_source",), code, key="missing"):
        _offer(run)
    run = run.untouched
    left, right = st.columns(2)
    with left:
        _in_every_way(run)
    with right:
        if not run.weights:
            switch("hide_each", _("Hide each source token in turn"))
        if run.weights or link.value("hide_each"):
            _token_by_token(run)
    if run.weights:
        _what_is_written_blind(here)


def _offer(run: Run) -> None:
    """Let every picture of the page show the model without cross-attention, or with it again."""
    if run.interventions:
        said = _(
            "Part of the model has been changed. This section still measures the unchanged model."
        )
        st.info(said, icon=":material/info:")
        st.button(
            _("Undo all changes inside the model"),
            icon=":material/undo:",
            key="cross_on",
            on_click=changes.undo,
        )
    else:
        st.button(
            _("Ablate cross-attention on the whole page"),
            icon=":material/link_off:",
            key="cross_off",
            on_click=changes.keep,
            args=(without_cross_attention(run.config),),
        )


def _in_every_way(run: Run) -> None:
    """The next token against that of the untouched run, for each way to lose the source."""
    steps = [partial(moved, run, way) for way in missing_source.changed_runs(run)]
    if n_ways := len(in_steps(steps, what=run, key="ways").found):
        shown = run, n_ways, labelled.pinned_target(run)
        show(missing_picture.ways, *shown, facts=ways_facts, key="missing_ways", on_click=_pin_next)
        say(says_ways, *shown, facts=ways_facts)


def _token_by_token(run: Run) -> None:
    """Each token of the source hidden alone: what hangs on it."""
    steps = [partial(moved_where_hidden, run, b) for b in missing_source.hidden_in_turn(run)]
    if n_batches := len(in_steps(steps, what=run, key="hidden").found):
        shown = run, n_batches, labelled.pinned_token(run), labelled.pinned_target(run)
        show(
            missing_picture.hidden,
            *shown,
            facts=hidden_facts,
            key="missing_tokens",
            on_click=_pin_both,
        )
        say(says_hidden, *shown, facts=hidden_facts)
    n = run.input.shape[1]
    if n > missing_source.MOST_HIDDEN:
        text = _("The first {shown} of {n} source tokens are hidden in turn.")
        note(text.format(shown=missing_source.MOST_HIDDEN, n=n))


def _what_is_written_blind(here: Standing) -> None:
    """The target, written anew without the source."""
    steps = [partial(written_blind, here, way) for way in Missing]
    texts = in_steps(steps, what=here, key="blind").found
    note(says_blind(texts))
    rows = [(way_name(way, _), text) for way, text in zip(Missing, texts, strict=False)]
    table = pd.DataFrame(rows, columns=[_("condition"), _("model output")])
    show_table(table, key="blind_table")


def _pin_next(customdata: list[Any]) -> None:
    """A cell was clicked: the token of the target after which it stands is pinned."""
    take({"target_token": int(customdata[1])})


def _pin_both(customdata: list[Any]) -> None:
    """Pin the target token of a clicked cell, and the source token of its row."""
    link.change("token", int(customdata[0]))
    _pin_next(customdata)
