"""The source goes missing: what the decoder then expects, and what it writes."""

from collections.abc import Callable
from itertools import chain

import pandas as pd
import streamlit as st

from blocks.inspection.missing_source import Missing, moved_by_hiding, without_source
from blocks.observe.run import Run
from pages.figures import missing_source
from pages.ui import labelled, link
from pages.ui.changes import state as changes
from pages.ui.chart import show
from pages.ui.controls import switch
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.seq2seq import missing, missing_words
from pages.ui.seq2seq.decoding import Standing
from pages.ui.steps import in_steps

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
            on_click=missing.switch_cross_attention_off,
            args=(run.config,),
        )


def in_every_way(run: Run) -> None:
    """The next token against that of the untouched run, for each way to lose the source."""
    steps = [_moved(run, changed) for changed in missing.changed_runs(run).values()]
    found = tuple(in_steps(steps, what=run, key="ways").found)
    if found:
        pinned = labelled.pinned_target(run)
        values = run, found, pinned
        alt = missing_words.ways_alt
        show(draw_ways, *values, key="missing_ways", alt=alt, on_click=missing.pin_next)
        bits = missing.matrix(found)
        st.info(missing_words.ways_sentence(run, bits), icon=":material/lightbulb:")


def token_by_token(run: Run) -> None:
    """Each token of the source hidden alone: what hangs on it."""
    steps = [_hidden(run, batch) for batch in missing.batches(run)]
    found = tuple(chain.from_iterable(in_steps(steps, what=run, key="hidden").found))
    if found:
        pinned = labelled.pinned_token(run), labelled.pinned_target(run)
        values = run, found, *pinned
        alt = missing_words.hidden_alt
        show(draw_hidden, *values, key="missing_tokens", alt=alt, on_click=missing.pin_both)
        bits = missing.matrix(found)
        st.info(missing_words.hidden_sentence(run, bits), icon=":material/lightbulb:")
    if said := missing_words.hidden_note(run):
        note(said)


def what_is_written_blind(here: Standing) -> None:
    """The target, written anew without the source."""
    steps = [_blind(here, way) for way in missing.WAYS]
    texts = in_steps(steps, what=here, key="blind").found
    note(missing_words.blind_sentence(texts))
    written = zip(map(_, missing.WAYS.values()), texts, strict=False)
    table = pd.DataFrame(written, columns=[_("without"), _("its output")])
    st.dataframe(table, hide_index=True, key="blind_table", height="content")


def _moved(run: Run, changed: Run) -> Callable[[], tuple[float, ...]]:
    return lambda: missing.moved(run, changed)


def _blind(here: Standing, way: Missing) -> Callable[[], str]:
    return lambda: missing.written_blind(here, way)


def _hidden(run: Run, places: tuple[int, ...]) -> Callable[[], Measured]:
    return lambda: missing.moved_by_hiding(run, places)


def draw_ways(run: Run, found: Measured, pinned: int):
    """A row a way."""
    return missing_source.moved(
        missing.matrix(found),
        [*missing.changed_runs(run)][: len(found)],
        missing.next_labels(run),
        title=_("Change of the next-token prediction without the source"),
        down="",
        pinned=pinned,
        _=_,
    )


def draw_hidden(run: Run, found: Measured, pinned_source: int, pinned: int):
    """A row a token of the source."""
    return missing_source.moved(
        missing.matrix(found),
        run.input.labels[: len(found)],
        missing.next_labels(run),
        title=_("Change of the prediction when one source token is hidden"),
        down=_("hidden source token"),
        pinned=pinned,
        pinned_row=pinned_source,
        _=_,
    )
