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
from blocks.model.faults import N_
from blocks.observe.interventions import without_cross_attention
from blocks.observe.run import Run
from blocks.text.bilingual import is_chinese
from pages.page.declared import Panel
from pages.panels.seq2seq import missing_picture
from pages.panels.seq2seq.missing_picture import way_name
from pages.panels.seq2seq.search import Standing, at_end, search_facts, with_target
from pages.server import cached
from pages.show.controls import switch
from pages.show.parts import Beside, Controls, Matrix, Note, Say, Steps, Table
from pages.show.ways import click_sets, take
from pages.stage import interventions as changes
from pages.stage import tokens
from pages.stage.press import press
from pages.state import labelled
from pages.state.values import State
from pages.words.language import _, bracketed, enumeration, fill, literal, sentences

LATIN = re.compile(r"[A-Za-z]")
ROOM = 390  # pixels of a picture before a class, where a sentence stands below


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


def ways_facts(run: Run, pinned: int, n_ways: int) -> WaysFacts:
    """The source missing in the first ways."""
    ways = [*missing_source.changed_runs(run)][:n_ways]
    bits = tuple(moved(run, way) for way in ways)
    return missing_source.ways_facts(run, bits, next_labels(run), pinned)


def hidden_facts(run: Run, pinned: int, pinned_source: int, n_batches: int) -> HiddenFacts:
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
        "on average; it changes most at {most} ({bits:.1f} bits) and least at {least} "
        "({few:.2f} bits)."
    )
    said = fill(text, facts, most=literal(most), bits=bits, least=literal(least), few=few)
    return sentences(said, _meaning(facts))


def _meaning(facts: WaysFacts) -> str:
    if facts.seed is not None:
        return _(
            "The weights are random (seed {seed}); how to use the source has yet to be learned."
        ).format(seed=facts.seed)
    if not facts.n_little:
        return _("Every token's prediction depends on the source.")
    return _(
        "For {n_little} of {n} tokens, the prediction hardly needs the source: without "
        "the source, it changes by less than {bits} bits."
    ).format(n_little=facts.n_little, n=len(facts.labels), bits=LITTLE)


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
    return _("Largest effects on the prediction (bits): {pairs}.").format(pairs=enumeration(pairs))


def says_blind(texts: Sequence[str]) -> str:
    """What kind of text comes of it."""
    said = _("The same search is run without the source: the decoder becomes a language model.")
    if not any(is_chinese(text) and LATIN.search(text) for text in texts):
        return said
    return sentences(
        said, _("The decoder does not even know which language to write in and mixes the two.")
    )


def says_first(of: tuple[Run, bool]) -> str | None:
    """How many tokens of a long source are hidden."""
    run, is_hidden = of
    n, most = run.input.shape[1], missing_source.MOST_HIDDEN
    text = _("The first {shown} of {n} source tokens are hidden in turn.")
    return text.format(shown=most, n=n) if n > most and is_hidden else None


def at_pinned(run: Run, here: Standing, state: State) -> tuple[Run, int, int, bool, Standing]:
    """The pinned tokens of target and source, and whether each source token is hidden in turn."""
    pinned = labelled.pinned_target(run, state), labelled.pinned_token(run, state)
    return run.untouched, *pinned, bool(run.weights or state.hide_each), here


def offer(_run: Run, _pinned: int, _source: int, _is_hidden: bool, here: Standing) -> None:
    """Let every picture of the page show the model without cross-attention, or with it again."""
    run = here.search.run
    if run.interventions:
        said = _(
            "Part of the model has been changed. This panel still measures the unchanged model."
        )
        st.info(said, icon=":material/info:")
        press(_("Undo all changes inside the model"), "cross_on", changes.undo, icon="undo")
    else:
        press(
            _("Ablate cross-attention on the whole page"),
            "cross_off",
            changes.keep,
            without_cross_attention(run.config),
            icon="link_off",
        )


def hide_each(run: Run) -> None:
    """Whether tokens of the source are hidden one at a time, where the weights are random."""
    if not run.weights:
        switch("hide_each", _("Hide each source token in turn"))


def in_every_way(run: Run) -> list[partial[tuple[float, ...]]]:
    return [partial(moved, run, way) for way in missing_source.changed_runs(run)]


def token_by_token(run: Run, _pinned: int, _source: int, is_hidden: bool) -> list[partial[Bits]]:
    batches = missing_source.hidden_in_turn(run) if is_hidden else ()
    return [partial(moved_where_hidden, run, batch) for batch in batches]


def anew(
    _run: Run, _pinned: int, _source: int, _is_hidden: bool, here: Standing
) -> list[partial[str]]:
    """The work, a target after the other written without the source."""
    if not here.search.run.weights:
        return []
    return [partial(written_blind, here, way) for way in Missing]


def texts(
    _run: Run, _pinned: int, _source: int, _is_hidden: bool, here: Standing, n: int
) -> list[str]:
    return [written_blind(here, way) for way in [*Missing][:n]]


def blind_table(found: Sequence[str]) -> pd.DataFrame:
    rows = [(way_name(way, _), text) for way, text in zip(Missing, found, strict=False)]
    return pd.DataFrame(rows, columns=[_("condition"), _("model output")])


def _pin_next(customdata: list[Any]) -> None:
    """Pin the token of the target after which a clicked cell stands."""
    take({"target_token": int(customdata[1])})


PANEL = Panel(
    "without-source",
    N_("What happens without the source?"),
    fields=("n_layers", "n_decoder_layers"),
    concepts=("without_source",),
    code=(without_source, moved_by_hiding),
    at=at_pinned,
    shows=(
        Controls(offer),
        Beside(
            Steps(
                in_every_way,
                Matrix(
                    missing_picture.ways,
                    "missing_ways",
                    click=_pin_next,
                    facts=ways_facts,
                    room=ROOM,
                ),
                Say(says_ways, ways_facts, is_here=True),
                key="ways",
            ),
            (
                Controls(hide_each),
                Steps(
                    token_by_token,
                    Matrix(
                        missing_picture.hidden,
                        "missing_tokens",
                        click=click_sets("token", "target_token"),
                        facts=hidden_facts,
                        room=ROOM,
                    ),
                    Say(says_hidden, hidden_facts, is_here=True),
                    key="hidden",
                ),
                Note(says_first, lambda run, _pinned, _source, is_hidden: (run, is_hidden)),
            ),
        ),
        Steps(
            anew,
            Note(says_blind, texts),
            Table(blind_table, "blind_table", facts=texts),
            key="blind",
        ),
    ),
)
