"""The cache of keys and values: what it takes, measured and by formula, and what it saves."""

import time
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import pandas as pd
import streamlit as st

from blocks.inspection import cache_growth
from blocks.inspection.cache_growth import CacheFacts, CacheTimes
from blocks.model import devices
from blocks.model.faults import N_
from blocks.model.kinds import TokenMixer
from blocks.model.kv_cache import KVCache, StateCache, kv_cache_bytes_per_token, state_shapes
from blocks.observe.run import Run
from blocks.text.sampling import SamplingConfig
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Look, Series, dots, line
from pages.page.declared import Panel
from pages.panels.gpt import shared, writing
from pages.panels.gpt.growing import Text, generation, text_so_far, window_size, writer_of
from pages.server import cached
from pages.server.passes import WORTH_SAYING, about, seconds_of
from pages.session.slot import Slot
from pages.show.chart import columns, show
from pages.show.explain import explained, note
from pages.show.parts import Shown
from pages.show.said import tell
from pages.stage import present
from pages.state.values import State
from pages.words.language import _, fill, sentences

N_TIMED = 32


def cache_facts(run: Run, sampling: SamplingConfig, seed: int, n_tokens: int) -> CacheFacts:
    """What the cache took at each step."""
    found = writer_of(run, sampling, seed).tokens[:n_tokens]
    return cache_growth.cache_facts(run, found, window_size(run))


@lru_cache(maxsize=16)
def cache_times(run: Run, sampling: SamplingConfig, seed: int, attempt: int) -> CacheTimes:
    """Measure each token with and without the cache.

    The two take turns, so that whatever else the machine does meets both alike.
    """
    with_cache, without = (
        generation(run, sampling, seed, use_cache=use_cache) for use_cache in (True, False)
    )
    for n in range(1, N_TIMED + 1):
        for text in (with_cache, without):
            with cached.turn(run.device):
                text.advance(n)
    steps = {
        "n_read": [len(run.input.token_ids) + i for i in range(N_TIMED)],
        "with_cache": [token.milliseconds for token in with_cache.new_tokens],
        "without": [token.milliseconds for token in without.new_tokens],
    }
    return CacheTimes(pd.DataFrame(steps), devices.device_name(run.device))


def says_formula(facts: CacheFacts) -> str:
    """Bytes of a token, in letters and in numbers."""
    config = facts.run.config
    if config.is_hybrid:
        return f"{says_keys(facts)}\n\n{says_state(facts)}"
    return says_keys(facts) if config.attends else says_state(facts)


def says_keys(facts: CacheFacts) -> str:
    """The same of keys and values, in the layers that attend."""
    config = facts.run.config
    n_layers = config.n_attention_layers
    factors = f"2 · {n_layers} · {config.n_kv_heads} · {config.d_head} · {facts.itemsize}"
    letters = _("2 · n_layers · n_kv_heads · d_head · bytes per number")
    if config.is_latent:
        cached = f"({config.d_kv_latent} + {config.d_rotary})"
        factors = f"{n_layers} · {cached} · {facts.itemsize}"
        letters = _("n_layers · (d_kv_latent + d_rotary) · bytes per number")
    if config.is_hybrid:
        letters = letters.replace("n_layers", "n_attention_layers")
    text = _("**Bytes per token:** {letters} = {factors} = **{bytes_per_token:,}** ({run.dtype})")
    return fill(text, facts, letters=letters, factors=factors)


def says_state(facts: CacheFacts) -> str:
    """Bytes of the states of all layers, in letters and in numbers."""
    config, itemsize = facts.run.config, facts.itemsize
    n, width = config.n_mixer_layers, facts.state_width
    letters = _("n_layers · d_model · bytes per number")
    factors = f"{n} · {config.d_model} · {itemsize}"
    if config.token_mixer is TokenMixer.GATED_DELTA:
        exact = facts.exact_itemsize
        letters = _(
            "n_layers · (n_state_heads · d_state² · {exact} + 3 · d_conv · bytes per number)"
        ).format(exact=exact)
        state = f"{width} · {config.d_state} · {exact}"
        factors = f"{n} · ({state} + 3 · {config.d_conv} · {itemsize})"
    if config.is_hybrid:
        letters = letters.replace("n_layers", "n_mixer_layers")
    text = _("**Bytes at any length:** {letters} = {factors} = **{state_bytes:,}** ({run.dtype})")
    return fill(text, facts, letters=letters, factors=factors)


def says_kept(facts: CacheFacts) -> str:
    """That a state does not grow, or what grows in a hybrid; what attention would keep by now."""
    text = _(
        "After {last[n_read]:,} tokens the states of all layers take up {last[measured]:,} bytes "
        "(measured), as many as after the first token. With attention, the keys and values of "
        "{run.config.n_heads} heads would take up {last[every_head]:,} bytes by now, and more with "
        "each token."
    )
    if facts.run.config.is_hybrid:
        text = _(
            "After {last[n_read]:,} tokens, {run.config.n_attention_layers} of "
            "{run.config.n_layers} layers hold the keys and values of {last[n_kept]:,} tokens; "
            "together with the fixed-size states of the other layers, these take up "
            "{last[measured]:,} bytes (measured). With attention in every layer, the keys and "
            "values of {run.config.n_heads} heads would take up {last[every_head]:,} bytes by now."
        )
    return fill(text, facts)


def says_cache(facts: CacheFacts) -> str:
    """What the cache takes now, and what sharing keys and values saves."""
    if not facts.run.config.attends:
        return says_kept(facts)
    text = _(
        "After {last[n_read]:,} tokens the cache holds {last[n_kept]:,} of them in "
        "{last[measured]:,} bytes (measured)."
    )
    more = _(
        "With keys and values for each of the {run.config.n_heads} query heads it would be "
        "{times_saved:g} times as large."
    )
    more = more if facts.times_saved > 1 else ""
    return sentences(fill(text, facts), fill(more, facts), _how_it_grows(facts))


def _how_it_grows(facts: CacheFacts) -> str:
    """In a straight line, unless a window or a full context lets go of old tokens."""
    text = _("Every new token adds the same amount: the cache grows linearly.")
    if facts.window_size is not None:
        text = _(
            "With a window of {window_size} tokens, the cache drops the keys and values that no "
            "later token can attend to, so it stops growing."
        )
    elif facts.n_local:
        text = _(
            "Local layers: {n_local} of {run.config.n_layers}. Each keeps at most {kept} tokens "
            "(local_window − 1); beyond that, only the caches of the other layers grow."
        )
    elif facts.is_shifted:
        text = _("When the context is full, its older half is dropped and the cache fills again.")
    return fill(text, facts, kept=facts.run.config.local_window - 1)


def says_times(facts: CacheTimes) -> str:
    """What was measured, and where."""
    text = _(
        "Measured on {device}: {with_cache:.2f} ms per token with the cache, {without:.2f} ms"
        " without it ({ratio:.1f} times as long), medians over {n} tokens; both runs generate"
        " the same tokens. The first token is left out, since either way the whole text is "
        "read for it."
    )
    return fill(text, facts)


def what_is_remembered(run: Run, state: State) -> Callable[[], None]:
    """The cache that the text took so far, and the time it saves."""
    sampling = shared.current_sampling(state)
    writing.write(writer_of(run, sampling, state.sampling_seed), writing.AT_ONCE, state)
    text = text_so_far(run, sampling, state)
    facts = cache_facts(*text)
    attends = run.config.attends
    code = (kv_cache_bytes_per_token, KVCache) if attends else (state_shapes, StateCache, KVCache)
    texts = ("kv_cache", "local_attention") if attends else ("token_mixers", "kv_cache")
    explained(texts, code, key="cache").markdown(says_formula(facts))
    left, right = columns([2, 1] if present.is_on() else 2)
    with left:
        said = writing.press(writing.several_tokens())
        if text.n_tokens:
            show(growth, *text, facts=cache_facts, key="growth", room=420)
            said = says_cache(facts)
        tell(said)
        if not text.n_tokens:
            writing.more_tokens("fill_cache", state)
    with right:
        what_it_saves(text)
    return partial(writing.go_on, text)


def what_it_saves(text: Text) -> None:
    """Milliseconds a token with and without the cache, measured when the reader asks for it."""
    attempt = measure_control(*text[:3])
    if attempt is None:
        said = _(
            "This generates {n} tokens twice on this device, with the cache and without it, "
            "and times both runs."
        )
        seconds = seconds_of(text.run, 2 * N_TIMED)  # one token may take as long as all
        expected = _("Together they take at most about {time}.").format(time=about(seconds))
        is_long = seconds >= WORTH_SAYING
        note(sentences(said.format(n=N_TIMED), expected if is_long else ""))
        return
    measured = (*text[:3], attempt)
    with st.spinner(_("Measuring …")):
        facts = cache_times(*measured)
    show(times, *measured, facts=cache_times, key="times")
    st.info(says_times(facts), icon=":material/timer:")


def growth(facts: CacheFacts) -> Chart | None:
    """Bytes of the cache over the tokens of the text: measured as dots, by formula as a line."""
    if facts.steps.empty:
        return None
    attends = facts.run.config.attends
    name = _("formula, with MHA") if attends else _("formula, with attention")
    every = line("every_head", Look(name, palette.BEFORE, width=1.5, dash="dot"), hover="")
    has_other = facts.times_saved > 1 or not attends
    return _over_tokens(
        facts.steps,
        _("Size of the cache"),
        Axis(_("bytes"), from_0=True, digits=","),
        [
            line("formula", Look(_("formula"), palette.ATTENTION, width=1.5), hover=""),
            *([every] if has_other else []),
            dots("measured", Look(_("measured"), palette.ATTENTION), click=("n_kept",)),
        ],
        _("{tokens} tokens kept: {bytes} bytes").format(tokens="{n_kept}", bytes="{y:,}"),
    )


def times(facts: CacheTimes) -> Chart:
    """Milliseconds for each token, with and without the cache: measured."""
    without, with_cache = _("without the cache"), _("with the cache")
    return _over_tokens(
        facts.steps.round(4),
        _("Time per token with and without the cache"),
        Axis(_("milliseconds per token"), from_0=True, digits=".3~f"),
        [
            line("without", Look(without, palette.BEFORE, "diamond", size=6, width=1)),
            line("with_cache", Look(with_cache, palette.ATTENTION, "circle", size=6, width=1)),
        ],
        "{y:.2f} ms",
    )


def _over_tokens(
    steps: pd.DataFrame, title: str, y: Axis, series: list[Series], hover: str
) -> Chart:
    x = Axis(_("tokens read"), of="n_read", digits="d")
    return Chart(title, steps, x, y, series, hover=hover, tall=220)


TIMED = Slot[tuple[Any, int]]("timed", (None, 0))  # what was measured, and when


def measure_control(*measured: Any) -> int | None:
    """The button that measures (again); which attempt is shown, or None before the first."""
    label = _("Time generation with and without the cache")
    if st.button(label, icon=":material/timer:", key="measure"):
        TIMED.keep((measured, time.monotonic_ns()))
    asked, attempt = TIMED.get()
    return attempt if asked == measured else None


PANEL = Panel(
    "kv-cache",
    N_("KV cache"),
    what_is_remembered,
    of_predictions=True,
    fields=(
        *("token_mixer", "attention_every", "n_layers", "n_kv_heads", "d_head"),
        *("local_window", "global_every", "dtype"),
    ),
    at=lambda run, state: text_so_far(run, shared.current_sampling(state), state),
    facts=cache_facts,
    shows=(Shown(growth, "growth"),),
)
