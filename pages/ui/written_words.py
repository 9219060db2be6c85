"""Sentences about text that the model writes, and about the cache it keeps."""

import pandas as pd

from blocks.model import devices
from blocks.model.kv_cache import kv_cache_bytes_per_token
from blocks.observe.run import Run
from blocks.text.sampling import SamplingConfig
from pages.ui import generated, terms
from pages.ui.chips import Chip
from pages.ui.generated import Writer
from pages.ui.language import _, literal
from pages.ui.numbers import percent


def chips(run: Run, writer: Writer, n_tokens: int, opened: int) -> list[Chip]:
    """The text so far: what was read, and each new token with the chance it was drawn with."""
    found = writer.tokens[:n_tokens]
    labels = generated.labels(run, found)
    read = [Chip(label, "") for label in run.input.tokens]
    return read + [
        Chip(label, percent(token.probability), "pinned" if i == opened else "written")
        for i, (label, token) in enumerate(zip(labels, found, strict=True))
    ]


def mask_note(run: Run) -> str:
    """Text grows causally whatever the mask of the run; empty where that is the same."""
    if len(generated.lasting(run)) < len(run.interventions):
        return _("Ablated parts stay ablated in new tokens; other changes end here.")
    if generated.is_as_masked(run):
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
    label = literal(generated.labels(run, [token])[0])
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
        layer=layer + 1,
        head=head,
        weight=float(reads[layer, head, key]),
        token=literal(generated.keys(run, writer.tokens, opened)[key]),
        position=len(run.input.token_ids) + opened - reads.shape[-1] + key + 1,
    )
    if run.weights:
        return said
    return said + " " + _("The weights are random: every head attends almost uniformly.")


def _largest(reads) -> tuple[int, int, int]:
    """Where the largest weight stands: layer, head, key."""
    n_heads, n_keys = reads.shape[1:]
    row, key = divmod(int(reads.argmax()), n_keys)
    return (*divmod(row, n_heads), key)


def chances_alt(run: Run, sampling: SamplingConfig, seed: int, n_tokens: int, _opened: int) -> str:
    """The new tokens in words."""
    table = generated.frame(run, generated.writer(run, sampling, seed).tokens[:n_tokens])
    listed = "; ".join(f"{row.label} {row.probability:.1%}" for row in table.itertuples())
    return _("New tokens and the probability of each when sampled: {listed}.").format(listed=listed)


def reads_alt(run: Run, sampling: SamplingConfig, seed: int, opened: int) -> str:
    """What the heads read in words."""
    writer = generated.writer(run, sampling, seed)
    text = _("What each head of each layer attended to for new token {n}.").format(n=opened + 1)
    return f"{text} {most_read(run, writer, opened)}"


def cache_formula(run: Run) -> str:
    """Bytes of a token, in letters and in numbers."""
    config, itemsize = run.config, generated.itemsize(run)
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
    if (window := generated.window_size(run)) is not None:
        text = _("The window of {n} evicts what no token can attend to: it grows no further.")
        return text.format(n=window)
    if (steps["n_kept"] < steps["n_read"]).any():
        return _("When the context is full, its older half is dropped and it fills again.")
    return _("Every new token adds the same amount: it grows linearly.")


def growth_alt(run: Run, sampling: SamplingConfig, seed: int, n_tokens: int) -> str:
    """The growth in words."""
    found = generated.writer(run, sampling, seed).tokens[:n_tokens]
    return cache_sentence(run, generated.growth(run, found))


def what_is_measured() -> str:
    """What the button will do."""
    text = _(
        "Generates {n} tokens twice on this device, with the cache and without it, and times both."
    )
    return text.format(n=generated.N_TIMED)


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
    """The measurement in words."""
    return times_sentence(run, generated.times(run, sampling, seed, attempt))
