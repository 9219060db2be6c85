"""The model writes on: each new token, what the heads read to make it, and the cache it took."""

from typing import Any, NamedTuple

import streamlit as st

from blocks import ConfigError
from blocks.model.kv_cache import KVCache, kv_cache_bytes_per_token
from blocks.observe.run import Run
from blocks.text.generation import Generation, context_start
from blocks.text.sampling import SamplingConfig
from pages.figures import cache, written
from pages.ui import chips, generated, link, written_words
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import refuse
from pages.ui.language import _
from pages.ui.sampling_controls import (
    new_token_choice,
    open_token,
    opened_token,
    writing_controls,
)
from pages.ui.timed import measure_control

AT_ONCE, A_MOMENT = 0.3, 0.1


class Text(NamedTuple):
    """A text that grows: from which run, how it is sampled, how far it has come."""

    run: Run
    sampling: SamplingConfig
    seed: int
    n_tokens: int

    @property
    def writer(self) -> generated.Writer:
        """The one who writes it."""
        return generated.writer(self.run, self.sampling, self.seed)

    @property
    def opened(self) -> int:
        """The new token that is opened."""
        return opened_token(self.n_tokens)


def what_is_written(run: Run, sampling: SamplingConfig) -> tuple[Text, Any]:
    """The text so far, and the place where it goes on; what takes long is left to `go_on`."""
    writer = generated.writer(run, sampling, link.value("sampling_seed"))
    said_at = explained(("sampling", "kv_cache"), (Generation.advance, context_start), key="writes")
    writing_controls(writer)
    if said := written_words.mask_note(run):
        note(said)
    write(writer, AT_ONCE)
    text = text_so_far(run, sampling)
    with st.container(key="text_so_far"):
        place = st.empty()
    show_text(text, place)
    if text.n_tokens:
        said_at.info(token_sentence(text), icon=":material/lightbulb:")
        one_token(text)
    else:
        said_at.info(written_words.nothing_yet(), icon=":material/lightbulb:")
    return text, place


def text_so_far(run: Run, sampling: SamplingConfig) -> Text:
    """The text as far as it has been written, up to what the reader asked for."""
    seed = link.value("sampling_seed")
    n_written = len(generated.writer(run, sampling, seed).tokens)
    return Text(run, sampling, seed, min(link.value("n_new_tokens"), n_written))


def write(writer: generated.Writer, seconds: float) -> None:
    """Write for a moment; where the device cannot, say so and end the page."""
    try:
        writer.write(link.value("n_new_tokens"), seconds=seconds)
    except ConfigError as error:
        faults = error.faults
    else:
        return
    refuse(faults)


def show_text(text: Text, place: Any) -> None:
    """What was read, and what was written so far."""
    with place.container(border=True):
        found = written_words.chips(text.run, text.writer, text.n_tokens, text.opened)
        st.markdown(chips.as_markdown(found))
        note(chips.legend(("read", "written", "pinned")))


def go_on(text: Text, place: Any) -> None:
    """Write what is still to be written, in sight of the reader; any touch interrupts it."""
    wanted = link.value("n_new_tokens")
    if text.n_tokens >= wanted:
        return
    while text.n_tokens < wanted:
        write(text.writer, A_MOMENT)
        text = text._replace(n_tokens=min(wanted, len(text.writer.tokens)))
        show_text(text, place)
    st.rerun()


def one_token(text: Text) -> None:
    """How probable each new token was, and what was read to make the one that is opened."""
    left, right = columns(2)
    with left:
        show(
            draw_chances,
            *text,
            text.opened,
            key="chances",
            alt=written_words.chances_alt,
            on_click=open_token,
        )
    with right:
        show(draw_reads, *text[:3], text.opened, key="reads", alt=written_words.reads_alt)
    new_token_choice(text.run, text.writer, text.n_tokens)


def token_sentence(text: Text) -> str:
    """With what chance the opened token was drawn, and who looked where to make it."""
    shown = text.run, text.writer, text.opened
    return f"{written_words.opened_sentence(*shown)} {written_words.most_read(*shown)}"


def what_is_remembered(text: Text) -> None:
    """The cache of keys and values: what it takes, measured and by formula, and what it saves."""
    code = (kv_cache_bytes_per_token, KVCache)
    explained(("kv_cache",), code, key="cache").markdown(written_words.cache_formula(text.run))
    left, right = columns(2)
    with left:
        if text.n_tokens:
            show(draw_growth, *text, key="growth", alt=written_words.growth_alt)
            steps = generated.growth(text.run, text.writer.tokens[: text.n_tokens])
            st.info(written_words.cache_sentence(text.run, steps), icon=":material/lightbulb:")
        else:
            st.info(written_words.nothing_yet(), icon=":material/lightbulb:")
    with right:
        what_it_saves(text)


def what_it_saves(text: Text) -> None:
    """Milliseconds a token with and without the cache, measured when the reader asks for it."""
    attempt = measure_control(*text[:3])
    if attempt is None:
        note(written_words.what_is_measured())
        return
    measured = (*text[:3], attempt)
    with st.spinner(_("Measuring …")):
        times = generated.times(*measured)
    show(draw_times, *measured, key="times", alt=written_words.times_alt)
    st.info(written_words.times_sentence(text.run, times), icon=":material/timer:")


def draw_chances(run: Run, sampling: SamplingConfig, seed: int, n_tokens: int, opened: int):
    """The chance of each new token."""
    found = generated.writer(run, sampling, seed).tokens[:n_tokens]
    return written.chances(generated.frame(run, found), chosen=opened, _=_)


def draw_reads(run: Run, sampling: SamplingConfig, seed: int, opened: int):
    """What every head read to make a new token."""
    found = generated.writer(run, sampling, seed).tokens
    return written.reads(found[opened].reads, generated.keys(run, found, opened), _=_)


def draw_growth(run: Run, sampling: SamplingConfig, seed: int, n_tokens: int):
    """Bytes of the cache, step by step."""
    found = generated.writer(run, sampling, seed).tokens[:n_tokens]
    return cache.growth(generated.growth(run, found), _=_)


def draw_times(run: Run, sampling: SamplingConfig, seed: int, attempt: int):
    """With and without the cache."""
    return cache.times(generated.times(run, sampling, seed, attempt), _=_)
