"""What is expected and written without the source: measured, and kept."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from blocks import ModelConfig
from blocks.inspection import missing_source
from blocks.inspection.missing_source import Missing
from blocks.model.faults import N_
from blocks.observe.interventions import without_cross_attention
from blocks.observe.run import Run
from pages.ui import cached, link, tokens
from pages.ui.changes import state as changes
from pages.ui.language import _
from pages.ui.seq2seq import decoding
from pages.ui.seq2seq.decoding import Search, Standing

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
def moved_by_hiding(run: Run, places: tuple[int, ...]) -> tuple[tuple[float, ...], ...]:
    """The same where one token of the source is hidden: a row for each of these places."""
    before = cached.recording(run).output[0]
    with cached.turn(run.device):
        return missing_source.moved_by_hiding(run, places, cached.model(run), before)


def places(run: Run) -> range:
    """The tokens of the source that are hidden in turn."""
    return range(min(run.input.shape[1], MOST_HIDDEN))


def batches(run: Run) -> list[tuple[int, ...]]:
    """The same in batches that take a moment each."""
    found, size = list(places(run)), missing_source.n_hidden_at_once(run)
    return [tuple(found[i : i + size]) for i in range(0, len(found), size)]


def matrix(found: list[tuple[float, ...]]) -> NDArray[np.float32]:
    """(rows, target tokens)."""
    return np.array(found, dtype=np.float32)


@lru_cache(maxsize=64)
def next_labels(run: Run) -> tuple[str, ...]:
    """What came after each token of the target; after the last, what the model would write."""
    last = int(cached.recording(run).output[0, -1].argmax())
    return (*run.target_or_start.labels[1:], tokens.label(run, last))


def blind_search(here: Standing, way: Missing) -> Search:
    """The same search of a target without the source; nothing is forced."""
    start_only = decoding.written_target(here.search.run, ())
    run = replace(missing_source.without_source(here.search.run.untouched, way), target=start_only)
    return replace(here.search, run=run, forced=())


@lru_cache(maxsize=64)
def written_blind(here: Standing, way: Missing) -> str:
    """What is written without the source, as one writes it."""
    return decoding.text(decoding.at_end(blind_search(here, way)))


def switch_cross_attention_off(config: ModelConfig) -> None:
    """On the whole page, whatever else was changed."""
    changes.keep(without_cross_attention(config))


def pin_next(customdata: list) -> None:
    """A cell was clicked: the token of the target after which it stands is pinned."""
    link.change("target_token", int(customdata[1]))
    link.redraw_everything()


def pin_both(customdata: list) -> None:
    """The same, and the source token of its row."""
    link.change("token", int(customdata[0]))
    pin_next(customdata)
