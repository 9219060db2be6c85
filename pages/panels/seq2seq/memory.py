"""What the encoder hands over to the decoder: its vectors, and how they came about."""

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from blocks.inspection import encoder_output
from blocks.observe.run import Run
from blocks.text.bilingual import SentenceTokenizer
from pages.figures.theme import Picture
from pages.panels.seq2seq import memory_picture, shared
from pages.ui import cached, labelled, tokens
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, literal
from pages.ui.said import say

if TYPE_CHECKING:
    from torch import Tensor


@lru_cache(maxsize=16)
def across_languages(alone: Run) -> encoder_output.Across:
    """Whether words that stand for each other meet in the encoder of this model."""
    reader = tokens.tokenizer_of(alone.input.vocabulary)
    assert isinstance(reader, SentenceTokenizer)
    model, pairs = cached.model(alone), shared._pairs()[: shared.N_ACROSS]
    with cached.turn(alone.device):
        return encoder_output.across_languages(
            model, alone.config.n_layers, pairs, reader, alone.device
        )


@lru_cache(maxsize=4)
def _stream(run: Run) -> "Tensor":
    return encoder_output.stream(cached.recording(run), run.config.n_layers)


@lru_cache(maxsize=16)
def source_tokens(run: Run) -> pd.DataFrame:
    """One row a source token: what is handed over, and what it was before the first layer."""
    return encoder_output.tokens(_stream(run)).assign(token=run.input.labels)


@lru_cache(maxsize=16)
def source_cosines(run: Run, step: int) -> NDArray[np.float32]:
    """How alike source tokens are: before the first layer (0), or as they are handed over (−1)."""
    return encoder_output.cosines(_stream(run)[step]).cpu().numpy()


@lru_cache(maxsize=16)
def mean_changes(run: Run) -> NDArray[np.float32]:
    """How much each of these steps changes a source token on average, padding left out."""
    return source_changes(run)[:, shared.is_source(run)].mean(axis=1)


@lru_cache(maxsize=16)
def mean_cosine(run: Run, step: int) -> float:
    """Of all pairs of different tokens that are no padding."""
    is_token = run.input.is_token()[0].to(run.device)
    return encoder_output.mean_cosine(encoder_output.cosines(_stream(run)[step][is_token]))


@lru_cache(maxsize=16)
def source_changes(run: Run) -> NDArray[np.float32]:
    """How much each layer, and the final norm where there is one, changes each source token."""
    found = encoder_output.changes(_stream(run)).cpu().numpy()
    has_final = bool(found[-1].any())
    return found if has_final else found[:-1]


ALIKE, NO_CHANGE, NO_GAIN = 1.02, 0.02, 0.05


def sentence(run: Run) -> str:
    """How alike tokens are before and after, and which layer changes them most."""
    before, after = mean_cosine(run, 0), mean_cosine(run, -1)
    if shared.is_source(run).sum() > 1:
        text = _(
            "Two source tokens have a mean cosine of {before:.2f} before the first "
            "layer and of {after:.2f} at the encoder's output: {how}."
        )
        said = text.format(before=before, after=after, how=_how(after - before))
    else:
        said = _("There is one source token, so there is no other to compare it with.")
    return f"{said} {_steps(run)} {_random(run)}".strip()


def _how(change: float) -> str:
    if abs(change) < NO_CHANGE:
        return _("about as similar as before")
    return _("they have become more similar") if change > 0 else _("they have moved apart")


def _random(run: Run) -> str:
    if run.weights:
        return ""
    text = _("The weights are random (seed {seed}): this is what the layers do before training.")
    return text.format(seed=run.seed)


def _steps(run: Run) -> str:
    changes = mean_changes(run)
    most = int(changes.argmax())
    text = _("{step} changes them most, on average by {change:.2f} of their length.")
    return text.format(step=_capital(step_names(run)[most]), change=float(changes[most]))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def step_names(run: Run) -> list[str]:
    """The steps of the encoder that change the stream."""
    names = [_("layer {layer}").format(layer=i + 1) for i in range(run.config.n_layers)]
    n_steps = len(source_changes(run))
    return [*names, *([_("final norm")] if n_steps > len(names) else [])]


def similarity_alt(run: Run, step: int, *_pinned: int) -> str:
    """Write the alt text of a matrix of cosines."""
    text = _("Cosine similarity of each source token with each other: mean {mean:.2f}.")
    return text.format(mean=mean_cosine(run, step))


def changes_alt(run: Run, *_pinned: int) -> str:
    """Write the alt text of how much each layer changes."""
    rows = zip(step_names(run), mean_changes(run), strict=True)
    said = "; ".join(f"{name} {mean:.2f}" for name, mean in rows)
    return _("Mean relative change of the source tokens at each step: {rows}.").format(rows=said)


def across_sentence(run: Run) -> str:
    """Whether the two languages meet; nothing where the tokens are no words of the grammar."""
    if not shared.knows_grammar(run):
        return ""
    found = across_languages(shared.model_alone(run))
    text = _(
        "Do the two languages share meaning here? For {n} words of validation sentences "
        "in English, the nearest vector in the Chinese translation belongs to a word of "
        "the same meaning in {before:.0%} of cases before the first layer, {after:.0%} "
        "at the encoder's output, {chance:.0%} by chance. {verdict}"
    )
    return text.format(
        n=found.n_words,
        before=found.before,
        after=found.after,
        chance=found.chance,
        verdict=_verdict(found.after - found.before),
    )


def _verdict(gain: float) -> str:
    """What reading the sentence did for it."""
    if abs(gain) < NO_GAIN:
        return _("Its layers bring them no closer: equal meaning does not imply equal position.")
    return _("Its layers bring them closer.") if gain > 0 else _("Its layers move them apart.")


def lengths_sentence(run: Run) -> str:
    """The longest and the shortest vector, and the one that has kept most of itself."""
    table = source_tokens(run)[shared.is_source(run)]
    longest, shortest = (
        table.iloc[pick] for pick in (table["norm"].argmax(), table["norm"].argmin())
    )
    if longest["norm"] <= ALIKE * shortest["norm"]:
        lengths = _("All vectors are about {length:.2f} long.").format(length=longest["norm"])
    else:
        text = _("Longest is {longest} ({long:.2f}), shortest {shortest} ({short:.2f}).")
        lengths = text.format(
            longest=literal(longest["token"]),
            long=longest["norm"],
            shortest=literal(shortest["token"]),
            short=shortest["norm"],
        )
    return f"{lengths} {_kept(table)}"


def _kept(table: pd.DataFrame) -> str:
    """Which token is most what it was."""
    kept = table.iloc[table["cosine"].argmax()]
    text = _(
        "{kept} has kept its direction best: cosine {cosine:.2f} with its vector before "
        "the first layer."
    )
    return text.format(kept=literal(kept["token"]), cosine=kept["cosine"])


def table(run: Run) -> None:
    """Every source token with its numbers."""
    found = source_tokens(run)
    shown = pd.DataFrame(
        {
            _("source token"): found["token"],
            _("mean"): found["mean"],
            _("std"): found["std"],
            _("length"): found["norm"],
            _("length before"): found["norm_before"],
            _("cosine with before"): found["cosine"],
        }
    )
    st.dataframe(shown.round(3), hide_index=True, key="memory_table", height=250)


BEFORE, AFTER = 0, -1


@section
def memory(run: Run) -> None:
    """How alike the source tokens are before and after, and which layer made them so."""
    code = (
        encoder_output.tokens,
        encoder_output.cosines,
        encoder_output.changes,
        encoder_output.across_languages,
    )
    with explained(("encoder_output",), code, key="memory"):
        say(sentence, run)
    pinned = labelled.pinned_token(run)
    for step, column in zip((BEFORE, AFTER), st.columns(2), strict=True):
        with column:
            shown = run, step, pinned
            key = "cosines_before" if step == BEFORE else "cosines_after"
            show(draw_similarity, *shown, key=key, alt=similarity_alt)
    left, right = columns(2)
    with left:
        show(draw_changes, run, pinned, key="source_changes", alt=changes_alt)
        note(_("‖after − before‖ / ‖before‖ of each token: 0 would be no change at all."))
    with right:
        st.markdown(lengths_sentence(run))
        table(run)
    if said := across_sentence(run):
        st.markdown(said)


def draw_similarity(run: Run, step: int, pinned: int) -> Picture:
    """Source tokens against each other; of a long source the part around the pinned one."""
    shown = shared.part(len(run.input.labels), pinned, shared.MOST_ROWS)
    title = (
        _("Similarity before the first layer")
        if step == BEFORE
        else _("Similarity at the encoder's output")
    )
    return memory_picture.similarity(
        source_cosines(run, step)[shown, shown],
        run.input.labels[shown],
        title=title,
        pinned=pinned - shown.start,
        _=_,
    )


def draw_changes(run: Run, pinned: int) -> Picture:
    """How much each step changes each source token."""
    shown = shared.part(len(run.input.labels), pinned, shared.MOST_COLUMNS)
    return memory_picture.changes(
        source_changes(run)[:, shown],
        run.input.labels[shown],
        step_names(run),
        pinned=pinned - shown.start,
        _=_,
    )
