"""The model writes on: each new token, what the heads read to make it, and the cache it took."""

import math
import threading
import time
from collections.abc import Hashable
from functools import lru_cache
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from blocks import ConfigError
from blocks.inspection.cache_growth import cache_growth
from blocks.model import devices
from blocks.model.kv_cache import KVCache, kv_cache_bytes_per_token
from blocks.model.masks import MaskKind
from blocks.model.models import GPT
from blocks.observe.interventions import Intervention, InterventionKind, replacements
from blocks.observe.run import Run, out_of_memory_fault
from blocks.text.generation import Generation, context_start
from blocks.text.sampling import SamplingConfig
from blocks.text.written import Written, written
from pages.figures.counting import from_one
from pages.figures.theme import Picture
from pages.panels.gpt import shared, writing_picture
from pages.ui import cached, chips, link, terms
from pages.ui.chart import columns, show
from pages.ui.chips import Chip
from pages.ui.controls import enter
from pages.ui.explain import explained, note
from pages.ui.frame import refuse
from pages.ui.language import _, current_language, literal
from pages.ui.numbers import percent
from pages.ui.settings import MAX_NEW_TOKENS

N_TIMED = 32


class Writer:
    """One text that grows token by token; sessions that share it take turns."""

    def __init__(self, run: Run, sampling: SamplingConfig, seed: int):
        self.run, self.sampling, self.seed = run, sampling, seed
        self.lock = threading.Lock()
        self._begin()

    def write(self, n_tokens: int, *, seconds: float = math.inf) -> None:
        """Go on until there are this many new tokens, or the time is up.

        Raises `ConfigError` where the device has no memory left; the text then begins anew.
        """
        ends = time.monotonic() + seconds
        while len(self.tokens) < n_tokens and time.monotonic() < ends:
            try:
                self._one_more(n_tokens)
            except RuntimeError as error:
                self._begin()
                if not devices.is_out_of_memory(error):
                    raise
                raise ConfigError([out_of_memory_fault()]) from None

    def _begin(self) -> None:
        self.generation = generation(self.run, self.sampling, self.seed, is_observed=True)
        self.tokens: list[Written] = []

    def _one_more(self, n_tokens: int) -> None:
        with self.lock, cached.turn(self.run.device):
            if len(self.tokens) < n_tokens:
                self.generation.advance(1)  # nothing is left in it but the one that is new
                self.tokens.append(written(self.generation.new_tokens.pop(), self.sampling))


# Few, since each keeps its model alive.
@st.cache_resource(max_entries=4, show_spinner=False, hash_funcs=cached.WRITTEN_OUT)
def writer_of(run: Run, sampling: SamplingConfig, seed: int) -> Writer:
    """The text that this run grows into; the same for all who ask for the same."""
    return Writer(run, sampling, seed)


def generation(
    run: Run, sampling: SamplingConfig, seed: int, begun: tuple[int, ...] = (), **more: bool
) -> Generation:
    """The text of a run, and tokens that were `begun` after it, ready to grow without padding."""
    return Generation(
        cast(GPT, cached.model(run)),
        run.config,
        (*run.input.token_ids, *begun),
        sampling,
        seed=seed,
        window_size=window_size(run),
        replace=replacements(lasting(run)),
        **more,
    )


def lasting(run: Run) -> tuple[Intervention, ...]:
    """The changes inside that hold for every new token: parts that are switched off at all."""
    off = (each for each in run.interventions if each.kind is InterventionKind.ZERO)
    return tuple(each for each in off if each.token is None)


def window_size(run: Run) -> int | None:
    """How far back a token sees, where the mask says so."""
    is_window = run.mask.mask_kind is MaskKind.SLIDING_WINDOW
    return run.mask.window_size if is_window else None


def is_as_masked(run: Run) -> bool:
    """Whether the mask of the run is the one that text grows with."""
    return run.mask.mask_kind in (
        MaskKind.CAUSAL,
        MaskKind.CAUSAL_PADDING,
        MaskKind.SLIDING_WINDOW,
    )


def keys(run: Run, found: list[Written], index: int) -> tuple[str, ...]:
    """The tokens that the heads read to make a new one."""
    n_keys = found[index].reads.shape[-1]
    before = (*(run.input.tokens or ()), *shared.labels(run, found[:index]))
    return before[-n_keys:]


def growth(run: Run, found: list[Written]) -> pd.DataFrame:
    """What the cache took at each step, and what the formula says."""
    return cache_growth(
        run.config,
        len(run.input.token_ids),
        found,
        itemsize=cache_itemsize(run),
        window_size=window_size(run),
    )


def cache_itemsize(run: Run) -> int:
    """Bytes of one number."""
    return devices.DTYPES[run.dtype].itemsize


@lru_cache(maxsize=16)
def token_times(run: Run, sampling: SamplingConfig, seed: int, attempt: int) -> pd.DataFrame:
    """Measure each token with and without the cache: n_read, with_cache, without; milliseconds.

    The two take turns, so that whatever else the machine does meets both alike.
    """
    cached_one, anew = (
        generation(run, sampling, seed, use_cache=use_cache) for use_cache in (True, False)
    )
    for n in range(1, N_TIMED + 1):
        for text in (cached_one, anew):
            with cached.turn(run.device):
                text.advance(n)
    return pd.DataFrame(
        {
            "n_read": [len(run.input.token_ids) + i for i in range(N_TIMED)],
            "with_cache": [token.milliseconds for token in cached_one.new_tokens],
            "without": [token.milliseconds for token in anew.new_tokens],
        }
    )


AT_A_PRESS = 20


def writing_controls(writer: Writer) -> None:
    """Step, play, stop, start again; how many tokens, and the seed of the draws."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="writing"):
        _to("step", _("Generate · one token"), ":material/skip_next:", 1)
        _to(
            "play",
            _("Generate · {n} tokens").format(n=AT_A_PRESS),
            ":material/play_arrow:",
            AT_A_PRESS,
        )
        st.button(_("Stop"), icon=":material/stop:", key="stop", on_click=_stop, args=(writer,))
        st.button(
            _("Start again"),
            icon=":material/restart_alt:",
            key="start_again",
            on_click=link.change,
            args=("n_new_tokens", 0),
        )
        enter("n_new_tokens", _("New tokens"), link.value("n_new_tokens"), width=130)
        enter("sampling_seed", _("Sampling seed"), link.value("sampling_seed"), width=150)


def _to(key: str, label: str, icon: str, more: int) -> None:
    n = link.value("n_new_tokens")
    st.button(
        label,
        icon=icon,
        key=key,
        type="primary" if key == "play" else "secondary",
        disabled=n >= MAX_NEW_TOKENS,
        on_click=link.change,
        args=("n_new_tokens", min(n + more, MAX_NEW_TOKENS)),
    )


def _stop(writer: Writer) -> None:
    """The text stays as long as it has become."""
    link.change("n_new_tokens", min(link.value("n_new_tokens"), len(writer.tokens)))


def new_token_choice(run: Run, writer: Writer, n_tokens: int) -> None:
    """Which new token is opened: by name here, or by a click on its bar."""
    names = shared.labels(run, writer.tokens[:n_tokens])
    options = range(n_tokens + 1)
    with st.container(key="new_token"):
        st.selectbox(
            _("New token to inspect"),
            options,
            format_func=lambda i: f"{i} · {names[i - 1]}" if i else _("the newest"),
            **link.view(
                "new_token",
                min(link.value("new_token"), n_tokens),
                (tuple(names), current_language()),
            ),
        )


def opened_token(n_tokens: int) -> int:
    """Its index among the new tokens: the reader's, or else the newest."""
    chosen = link.value("new_token")
    return (chosen if 0 < chosen <= n_tokens else n_tokens) - 1


def open_token(customdata: list[Any]) -> None:
    """A bar was clicked."""
    link.change("new_token", int(customdata[0]) + 1)


def measure_control(*measured: Hashable) -> int | None:
    """The button that measures (again); which attempt is shown, or None before the first."""
    if st.button(_("Measure with and without the cache"), icon=":material/timer:", key="measure"):
        st.session_state["timed"] = (measured, time.monotonic_ns())
    asked, attempt = st.session_state.get("timed", (None, 0))
    return attempt if asked == measured else None


def chips_text(run: Run, writer: Writer, n_tokens: int, opened: int) -> list[Chip]:
    """The text so far: what was read, and each new token with the chance it was drawn with."""
    found = writer.tokens[:n_tokens]
    labels = shared.labels(run, found)
    read = [Chip(label, "") for label in run.input.tokens or ()]
    return read + [
        Chip(label, percent(token.probability), "pinned" if i == opened else "written")
        for i, (label, token) in enumerate(zip(labels, found, strict=True))
    ]


def mask_note(run: Run) -> str:
    """Text grows causally whatever the mask of the run; empty where that is the same."""
    if len(lasting(run)) < len(run.interventions):
        return _("Ablated parts stay ablated in new tokens; other changes end here.")
    if is_as_masked(run):
        return ""
    text = _(
        "The mask is {mask}, but generation is autoregressive: later tokens do not exist "
        "yet, so it is causal."
    )
    return text.format(mask=terms.option(run.mask.mask_kind))


def nothing_yet() -> str:
    """Where no token was written."""
    return _("No new token yet: press Generate.")


def opened_sentence(run: Run, writer: Writer, opened: int) -> str:
    """How the opened token was drawn, and from where its context begins."""
    token = writer.tokens[opened]
    label = literal(shared.labels(run, [token])[0])
    text = _(
        "New token {number}, {token}, was sampled with probability {chance} (the model's "
        "own: {own})."
    )
    said = text.format(
        number=opened + 1,
        token=label,
        chance=percent(token.probability),
        own=percent(token.model_probability),
    )
    return f"{said} {_context(run, token.context_start)}".strip()


def _context(run: Run, start: int) -> str:
    if not start:
        return ""
    text = _(
        "The context is full (max_seq_len {most}): it has been shifted, and the first "
        "{n} tokens of the text are no longer visible."
    )
    return text.format(most=run.config.max_seq_len, n=start)


def most_read(run: Run, writer: Writer, opened: int) -> str:
    """Which head put most on one token."""
    reads = writer.tokens[opened].reads
    layer, head, key = (int(i) for i in _largest(reads))
    text = _(
        "The sharpest attention is in layer {layer}, head {head}: {weight:.0%} on "
        "{token} (position {position})."
    )
    said = text.format(
        layer=from_one(layer),
        head=from_one(head),
        weight=float(reads[layer, head, key]),
        token=literal(keys(run, writer.tokens, opened)[key]),
        position=len(run.input.token_ids) + opened - reads.shape[-1] + key + 1,
    )
    if run.weights:
        return said
    return said + " " + _("The weights are random: every head attends almost uniformly.")


def _largest(reads: NDArray[np.float16]) -> tuple[int, int, int]:
    """Where the largest weight stands: layer, head, key."""
    n_heads, n_keys = reads.shape[1:]
    row, key = divmod(int(reads.argmax()), n_keys)
    return (*divmod(row, n_heads), key)


def chances_alt(run: Run, sampling: SamplingConfig, seed: int, n_tokens: int, _opened: int) -> str:
    """Write the alt text of the new tokens."""
    table = shared.frame(run, writer_of(run, sampling, seed).tokens[:n_tokens])
    listed = "; ".join(f"{row.label} {row.probability:.1%}" for row in table.itertuples())
    return _("New tokens and the probability of each when sampled: {listed}.").format(listed=listed)


def reads_alt(run: Run, sampling: SamplingConfig, seed: int, opened: int) -> str:
    """Write the alt text of what the heads read."""
    writer = writer_of(run, sampling, seed)
    text = _("What each head of each layer attended to for new token {n}.").format(n=opened + 1)
    return f"{text} {most_read(run, writer, opened)}"


def cache_formula(run: Run) -> str:
    """Bytes of a token, in letters and in numbers."""
    config, itemsize = run.config, cache_itemsize(run)
    factors = f"2 · {config.n_layers} · {config.n_kv_heads} · {config.d_head} · {itemsize}"
    letters = _("2 · n_layers · n_kv_heads · d_head · bytes per number")
    total = kv_cache_bytes_per_token(config, itemsize)
    text = _("**Bytes per token:** {letters} = {factors} = **{total:,}** ({dtype})")
    return text.format(letters=letters, factors=factors, total=total, dtype=run.dtype)


def cache_sentence(run: Run, steps: pd.DataFrame) -> str:
    """What the cache takes now, and what sharing keys and values saves."""
    last = steps.iloc[-1]
    text = _("After {n:,} tokens the cache holds {kept:,} of them in {bytes:,} bytes (measured).")
    said = text.format(n=last["n_read"], kept=last["n_kept"], bytes=last["measured"])
    if last["every_head"] > last["formula"]:
        text = _(
            "With keys and values for each of the {n} query heads it would be {times:g} "
            "times as much."
        )
        times = last["every_head"] / last["formula"]
        said += " " + text.format(n=run.config.n_heads, times=times)
    return f"{said} {_how_it_grows(run, steps)}"


def _how_it_grows(run: Run, steps: pd.DataFrame) -> str:
    """In a straight line, unless a window or a full context lets go of old tokens."""
    if (window := window_size(run)) is not None:
        text = _("The window of {n} evicts what no token can attend to: it grows no further.")
        return text.format(n=window)
    if (steps["n_kept"] < steps["n_read"]).any():
        return _("When the context is full, its older half is dropped and it fills again.")
    return _("Every new token adds the same amount: it grows linearly.")


def growth_alt(run: Run, sampling: SamplingConfig, seed: int, n_tokens: int) -> str:
    """Write the alt text of the growth."""
    found = writer_of(run, sampling, seed).tokens[:n_tokens]
    return cache_sentence(run, growth(run, found))


def what_is_measured() -> str:
    """What the button will do."""
    text = _(
        "Generates {n} tokens twice on this device, with the cache and without it, and times both."
    )
    return text.format(n=N_TIMED)


def times_sentence(run: Run, times: pd.DataFrame) -> str:
    """What was measured, and where."""
    later = times.iloc[1:]
    with_cache, without = later["with_cache"].median(), later["without"].median()
    text = _(
        "Measured on {device}: {with_cache:.2f} ms per token with the cache, "
        "{without:.2f} ms without ({ratio:.1f} times), medians of {n} tokens; both "
        "generate the same ones. The first token is left out: both read the whole text "
        "for it."
    )
    return text.format(
        device=devices.device_name(run.device),
        with_cache=with_cache,
        without=without,
        ratio=without / with_cache,
        n=len(later),
    )


def times_alt(run: Run, sampling: SamplingConfig, seed: int, attempt: int) -> str:
    """Write the alt text of the measurement."""
    return times_sentence(run, token_times(run, sampling, seed, attempt))


AT_ONCE, A_MOMENT = 0.3, 0.1


class Text(NamedTuple):
    """A text that grows: from which run, how it is sampled, how far it has come."""

    run: Run
    sampling: SamplingConfig
    seed: int
    n_tokens: int

    @property
    def writer(self) -> Writer:
        """The one who writes it."""
        return writer_of(self.run, self.sampling, self.seed)

    @property
    def opened(self) -> int:
        """The new token that is opened."""
        return opened_token(self.n_tokens)


def what_is_written(run: Run, sampling: SamplingConfig) -> tuple[Text, Any]:
    """The text so far, and the place where it goes on; what takes long is left to `go_on`."""
    writer = writer_of(run, sampling, link.value("sampling_seed"))
    said_at = explained(("sampling", "kv_cache"), (Generation.advance, context_start), key="writes")
    writing_controls(writer)
    if said := mask_note(run):
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
        said_at.info(nothing_yet(), icon=":material/lightbulb:")
    return text, place


def text_so_far(run: Run, sampling: SamplingConfig) -> Text:
    """The text as far as it has been written, up to what the reader asked for."""
    seed = link.value("sampling_seed")
    n_written = len(writer_of(run, sampling, seed).tokens)
    return Text(run, sampling, seed, min(link.value("n_new_tokens"), n_written))


def write(writer: Writer, seconds: float) -> None:
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
        found = chips_text(text.run, text.writer, text.n_tokens, text.opened)
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
            alt=chances_alt,
            on_click=open_token,
        )
    with right:
        show(draw_reads, *text[:3], text.opened, key="reads", alt=reads_alt)
    new_token_choice(text.run, text.writer, text.n_tokens)


def token_sentence(text: Text) -> str:
    """With what chance the opened token was drawn, and who looked where to make it."""
    shown = text.run, text.writer, text.opened
    return f"{opened_sentence(*shown)} {most_read(*shown)}"


def what_is_remembered(text: Text) -> None:
    """The cache of keys and values: what it takes, measured and by formula, and what it saves."""
    code = (kv_cache_bytes_per_token, KVCache)
    explained(("kv_cache",), code, key="cache").markdown(cache_formula(text.run))
    left, right = columns(2)
    with left:
        if text.n_tokens:
            show(draw_growth, *text, key="growth", alt=growth_alt)
            steps = growth(text.run, text.writer.tokens[: text.n_tokens])
            st.info(cache_sentence(text.run, steps), icon=":material/lightbulb:")
        else:
            st.info(nothing_yet(), icon=":material/lightbulb:")
    with right:
        what_it_saves(text)


def what_it_saves(text: Text) -> None:
    """Milliseconds a token with and without the cache, measured when the reader asks for it."""
    attempt = measure_control(*text[:3])
    if attempt is None:
        note(what_is_measured())
        return
    measured = (*text[:3], attempt)
    with st.spinner(_("Measuring …")):
        times = token_times(*measured)
    show(draw_times, *measured, key="times", alt=times_alt)
    st.info(times_sentence(text.run, times), icon=":material/timer:")


def draw_chances(
    run: Run, sampling: SamplingConfig, seed: int, n_tokens: int, opened: int
) -> Picture:
    """The chance of each new token."""
    found = writer_of(run, sampling, seed).tokens[:n_tokens]
    return writing_picture.chances(shared.frame(run, found), chosen=opened, _=_)


def draw_reads(run: Run, sampling: SamplingConfig, seed: int, opened: int) -> Picture:
    """What every head read to make a new token."""
    found = writer_of(run, sampling, seed).tokens
    return writing_picture.reads(found[opened].reads, keys(run, found, opened), _=_)


def draw_growth(run: Run, sampling: SamplingConfig, seed: int, n_tokens: int) -> Picture:
    """Bytes of the cache, step by step."""
    found = writer_of(run, sampling, seed).tokens[:n_tokens]
    return writing_picture.growth(growth(run, found), _=_)


def draw_times(run: Run, sampling: SamplingConfig, seed: int, attempt: int) -> Picture:
    """With and without the cache."""
    return writing_picture.times(token_times(run, sampling, seed, attempt), _=_)
