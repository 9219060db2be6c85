"""The source goes missing: what the decoder then expects, and what it writes."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from blocks import ModelConfig
from blocks.inspection import missing_source
from blocks.inspection.missing_source import Missing, moved_by_hiding, without_source
from blocks.model.faults import N_
from blocks.observe.interventions import without_cross_attention
from blocks.observe.run import Run
from blocks.text.bilingual import is_chinese
from pages.figures.theme import Picture
from pages.panels.seq2seq import decoding_facts, missing_picture
from pages.panels.seq2seq.decoding_facts import Search, Standing
from pages.ui import cached, labelled, link, tokens
from pages.ui.chart import show
from pages.ui.controls import switch
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.interventions import state as changes
from pages.ui.language import _, enumeration, literal
from pages.ui.steps import in_steps

WAYS = {
    Missing.CROSS_OFF: N_("all cross-attention off"),
    Missing.HIDDEN: N_("source hidden"),
    Missing.EMPTY: N_("source empty"),
}
MOST_LAYERS, MOST_HIDDEN = 12, 64


def changed_runs(run: Run) -> dict[str, Run]:
    """The run without its source, in each way; and with one cross-attention off, layer by layer."""
    found = {_(name): missing_source.without_source(run, way) for way, name in WAYS.items()}
    n_layers = run.config.n_decoder_layers
    if n_layers == 1:
        return found
    text = _("layer {layer} off")
    layers = {
        text.format(layer=layer + 1): missing_source.without_layer(run, layer)
        for layer in range(min(n_layers, MOST_LAYERS))
    }
    return {**found, **layers}


@lru_cache(maxsize=256)
def moved(run: Run, changed: Run) -> tuple[float, ...]:
    """Bits by which the next token moves after each token of the target."""
    output = cached.recording(run).output[0]
    with cached.turn(run.device):
        return missing_source.moved_bits(output, changed, cached.model(run))


@lru_cache(maxsize=128)
def measured_by_hiding(run: Run, places: tuple[int, ...]) -> tuple[tuple[float, ...], ...]:
    """Bits by which each next token moves where one source token is hidden: a row a place."""
    before = cached.recording(run).output[0]
    with cached.turn(run.device):
        return missing_source.moved_by_hiding(run, places, cached.model(run), before)


def places(run: Run) -> range:
    """The tokens of the source that are hidden in turn."""
    return range(min(run.input.shape[1], MOST_HIDDEN))


def batches(run: Run) -> list[tuple[int, ...]]:
    """The tokens to hide, in batches that take a moment each."""
    found, size = list(places(run)), missing_source.n_hidden_at_once(run)
    return [tuple(found[i : i + size]) for i in range(0, len(found), size)]


def matrix(found: Sequence[tuple[float, ...]]) -> NDArray[np.float32]:
    """(rows, target tokens)."""
    return np.array(found, dtype=np.float32)


@lru_cache(maxsize=64)
def next_labels(run: Run) -> tuple[str, ...]:
    """What came after each token of the target; after the last, what the model would write."""
    last = int(cached.recording(run).output[0, -1].argmax())
    return (*run.target_or_start.labels[1:], tokens.label(run, last))


def blind_search(here: Standing, way: Missing) -> Search:
    """Repeat the search without the source; nothing is forced."""
    start_only = decoding_facts.written_target(here.search.run, ())
    run = replace(missing_source.without_source(here.search.run.untouched, way), target=start_only)
    return replace(here.search, run=run, forced=())


@lru_cache(maxsize=64)
def written_blind(here: Standing, way: Missing) -> str:
    """What is written without the source, as one writes it."""
    return decoding_facts.written_text(decoding_facts.at_end(blind_search(here, way)))


def switch_cross_attention_off(config: ModelConfig) -> None:
    """On the whole page, whatever else was changed."""
    changes.keep(without_cross_attention(config))


def pin_next(customdata: list[Any]) -> None:
    """A cell was clicked: the token of the target after which it stands is pinned."""
    link.change("target_token", int(customdata[1]))
    link.redraw_everything()


def pin_both(customdata: list[Any]) -> None:
    """Pin the target token of a clicked cell, and the source token of its row."""
    link.change("token", int(customdata[0]))
    pin_next(customdata)


LITTLE, MUCH = 0.1, 1.0
LATIN = re.compile(r"[A-Za-z]")


def ways_sentence(run: Run, bits: np.ndarray) -> str:
    """How much the source is worth, and where the target alone tells what comes."""
    labels, off = next_labels(run), bits[0]
    most, least = int(off.argmax()), int(off.argmin())
    text = _(
        "Without cross-attention the next-token prediction changes by {mean:.2f} bits "
        "(KL) on average; most at {most} ({bits:.1f} bits), least at {least} ({few:.2f} "
        "bits)."
    )
    said = text.format(
        mean=float(off.mean()),
        most=literal(labels[most]),
        bits=float(off[most]),
        least=literal(labels[least]),
        few=float(off[least]),
    )
    return f"{said} {_meaning(run, off)}"


def _meaning(run: Run, off: np.ndarray) -> str:
    if not run.weights:
        text = _(
            "The weights are random (seed {seed}): what the source is good for has to be learned."
        )
        return text.format(seed=run.seed)
    n_little, n = int((off < LITTLE).sum()), len(off)
    if not n_little:
        return _("No token can be predicted from the target alone.")
    text = _(
        "{n_little} of {n} tokens follow from the target alone: without the source "
        "their prediction changes by less than {bits} bits."
    )
    return text.format(n_little=n_little, n=n, bits=LITTLE)


def hidden_sentence(run: Run, bits: np.ndarray) -> str:
    """Which source token each target token hangs on."""
    labels, most = next_labels(run), bits.argmax(axis=0)
    strong = [column for column in range(bits.shape[1]) if bits[most[column], column] > MUCH]
    if not strong:
        return _(
            "Hiding any one source token changes no next-token prediction by more than 1 bit (KL)."
        )
    pairs = (
        f"{literal(labels[column])} ← {literal(run.input.labels[most[column]])} "
        f"({bits[most[column], column]:.1f})"
        for column in strong
    )
    text = _("Largest effects on the prediction (bits): {pairs}.")
    return text.format(pairs=enumeration(pairs))


def blind_sentence(texts: list[str]) -> str:
    """What kind of text comes of it."""
    said = _("The same search again, without the source: the decoder becomes a language model.")
    if not any(is_chinese(text) and LATIN.search(text) for text in texts):
        return said
    return said + " " + _("It does not even know which language to write, and mixes the two.")


def hidden_note(run: Run) -> str:
    """Where the source is too long to hide each token of it."""
    n, shown = run.input.shape[1], len(places(run))
    if n == shown:
        return ""
    text = _("The first {shown} of {n} source tokens are hidden in turn.")
    return text.format(shown=shown, n=n)


def ways_alt(run: Run, *_measured: object) -> str:
    """Write the alt text of the picture of the ways."""
    rows = changed_runs(run)
    mean = "; ".join(f"{name} {np.mean(moved(run, changed)):.2f}" for name, changed in rows.items())
    text = _("Change of the next-token prediction in bits (KL), mean over the target: {mean}.")
    return text.format(mean=mean)


def hidden_alt(run: Run, *_measured: object) -> str:
    """Write the alt text of the picture of hidden tokens."""
    text = _(
        "Change of each next-token prediction in bits (KL) when one of {n} source tokens is hidden."
    )
    return text.format(n=len(places(run)))


Measured = tuple[tuple[float, ...], ...]


@section
def when_the_source_is_missing(run: Run, here: Standing) -> None:
    """Cross-attention off, the source hidden or empty, and one token of it hidden at a time."""
    code = (without_source, moved_by_hiding)
    with explained(("without_source",), code, key="missing"):
        offer(run)
    run = run.untouched
    left, right = st.columns(2)
    with left:
        in_every_way(run)
    with right:
        if not run.weights:
            switch("hide_each", _("Hide every source token in turn"))
        if run.weights or link.value("hide_each"):
            token_by_token(run)
    if run.weights:
        what_is_written_blind(here)


def offer(run: Run) -> None:
    """Let every picture of the page show the model without cross-attention, or with it again."""
    if run.interventions:
        st.info(
            _(
                "A part is ablated inside the model. This section still measures the "
                "unchanged model."
            ),
            icon=":material/info:",
        )
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
            on_click=switch_cross_attention_off,
            args=(run.config,),
        )


def in_every_way(run: Run) -> None:
    """The next token against that of the untouched run, for each way to lose the source."""
    steps = [_moved(run, changed) for changed in changed_runs(run).values()]
    found = tuple(in_steps(steps, what=run, key="ways").found)
    if found:
        pinned = labelled.pinned_target(run)
        values = run, found, pinned
        alt = ways_alt
        show(draw_ways, *values, key="missing_ways", alt=alt, on_click=pin_next)
        bits = matrix(found)
        st.info(ways_sentence(run, bits), icon=":material/lightbulb:")


def token_by_token(run: Run) -> None:
    """Each token of the source hidden alone: what hangs on it."""
    steps = [_hidden(run, batch) for batch in batches(run)]
    found = tuple(chain.from_iterable(in_steps(steps, what=run, key="hidden").found))
    if found:
        pinned = labelled.pinned_token(run), labelled.pinned_target(run)
        values = run, found, *pinned
        alt = hidden_alt
        show(draw_hidden, *values, key="missing_tokens", alt=alt, on_click=pin_both)
        bits = matrix(found)
        st.info(hidden_sentence(run, bits), icon=":material/lightbulb:")
    if said := hidden_note(run):
        note(said)


def what_is_written_blind(here: Standing) -> None:
    """The target, written anew without the source."""
    steps = [_blind(here, way) for way in WAYS]
    texts = in_steps(steps, what=here, key="blind").found
    note(blind_sentence(texts))
    written = zip(map(_, WAYS.values()), texts, strict=False)
    table = pd.DataFrame(written, columns=[_("without"), _("its output")])
    st.dataframe(table, hide_index=True, key="blind_table", height="content")


def _moved(run: Run, changed: Run) -> Callable[[], tuple[float, ...]]:
    return lambda: moved(run, changed)


def _blind(here: Standing, way: Missing) -> Callable[[], str]:
    return lambda: written_blind(here, way)


def _hidden(run: Run, places: tuple[int, ...]) -> Callable[[], Measured]:
    return lambda: measured_by_hiding(run, places)


def draw_ways(run: Run, found: Measured, pinned: int) -> Picture:
    """A row a way."""
    return missing_picture.moved(
        matrix(found),
        [*changed_runs(run)][: len(found)],
        next_labels(run),
        title=_("Change of the next-token prediction without the source"),
        down="",
        pinned=pinned,
        _=_,
    )


def draw_hidden(run: Run, found: Measured, pinned_source: int, pinned: int) -> Picture:
    """A row a token of the source."""
    return missing_picture.moved(
        matrix(found),
        run.input.labels[: len(found)],
        next_labels(run),
        title=_("Change of the prediction when one source token is hidden"),
        down=_("hidden source token"),
        pinned=pinned,
        pinned_row=pinned_source,
        _=_,
    )
