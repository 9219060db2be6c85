"""How the next token is chosen, and how far the text is written."""

from functools import lru_cache
from typing import cast

import numpy as np
import pandas as pd
import streamlit as st

from blocks.inspection import lens as lenses
from blocks.inspection import predictions
from blocks.model.models import Encoder
from blocks.observe.run import PaddingSide, Run
from blocks.text import sampling as sampled
from blocks.text.sampling import SamplingConfig
from blocks.text.written import Written
from pages.ui import cached, link, tokens
from pages.ui.chips import Chip
from pages.ui.language import _


def labels(run: Run, found: list[Written]) -> list[str]:
    """What the new tokens are called."""
    return [tokens.label(run, token.token_id) for token in found]


def frame(run: Run, found: list[Written]) -> pd.DataFrame:
    """One row a new token: label, how probable it was, where its context began."""
    columns = ("token_id", "probability", "model_probability", "context_start", "cache_bytes")
    rows = [[getattr(token, name) for name in columns] for token in found]
    table = pd.DataFrame(rows, columns=list(columns))
    table.insert(0, "label", labels(run, found))
    return table


LENS_ROWS, LENS_COLUMNS = 16, 13


@lru_cache(maxsize=8)
def next_tokens(run: Run, position: int, sampling: SamplingConfig) -> pd.DataFrame:
    """One row a token of the vocabulary, the likeliest first: what sampling makes of each."""
    logits = cached.recording(run).output[0, position]
    alone = sampled.next_tokens(logits, SamplingConfig())["probability"]
    table = sampled.next_tokens(logits, sampling).assign(model_probability=alone)
    return table.sort_values("rank", ignore_index=True)


@lru_cache(maxsize=8)
def token_labels(run: Run) -> tuple[str, ...]:
    """What every token of the vocabulary is called."""
    return tuple(tokens.label(run, token_id) for token_id in range(run.config.vocab_size))


@lru_cache(maxsize=16)
def lens(run: Run) -> lenses.Lens:
    """What the model would say after each layer, at every position."""
    return lenses.logit_lens(cast(Encoder, cached.model(run)), cached.recording(run))


@lru_cache(maxsize=16)
def lens_table(run: Run) -> pd.DataFrame:
    """The whole lens, a row a cell."""
    found = lens(run)
    layer, position = np.indices(found.token_id.shape)
    return pd.DataFrame(
        {
            "layer": layer.ravel(),
            "position": position.ravel() + 1,
            "token": np.asarray(run.input.labels, dtype=object)[position.ravel()],
            "token_id": found.token_id.ravel(),
            "says": [tokens.label(run, int(token_id)) for token_id in found.token_id.ravel()],
            "probability": found.probability.ravel(),
            "rank_of_final_answer": found.rank.ravel(),
        }
    )


def text_range(run: Run) -> tuple[int, int]:
    """The positions of the text among those of the run: first, and one after the last."""
    is_left = run.input.padding_side is PaddingSide.LEFT
    first = run.input.n_padding if is_left else 0
    return first, first + len(run.input.token_ids)


@lru_cache(maxsize=32)
def surprise(run: Run) -> pd.DataFrame:
    """One row a token of the text, the first excepted: label, position (from 0), bits, rank."""
    first, end = text_range(run)
    ids = run.values()[0, first:end]
    table = predictions.surprise(cached.recording(run).output[0, first:end], ids)
    table["position"] += first
    return table.assign(label=[run.input.labels[position] for position in table["position"]])


def read_tokens(run: Run) -> pd.DataFrame:
    """The text, a row a token: label, id, its characters from 1, and what stands there."""
    text = link.value("text")
    pieces = tokens.reading().pieces
    return pd.DataFrame(
        {
            "position": range(1, len(pieces) + 1),
            "token": [piece.label for piece in pieces],
            "token_id": [piece.token_id for piece in pieces],
            "first_character": [piece.start + 1 for piece in pieces],
            "last_character": [piece.end for piece in pieces],
            "text": [text[piece.start : piece.end] for piece in pieces],
        }
    )


def tokens_read(run: Run) -> None:
    """The text token by token."""
    table = read_tokens(run)
    shown = pd.DataFrame(
        {
            _("position"): table["position"],
            _("token"): table["token"],
            _("id"): table["token_id"],
            _("characters"): _span(table),
        }
    )
    st.dataframe(shown, hide_index=True, key="token_table", height=212)


def _span(table: pd.DataFrame) -> pd.Series:
    """From which character to which, or the one."""
    first, last = table["first_character"].astype(str), table["last_character"].astype(str)
    return first.where(first == last, first + "–" + last)


@lru_cache(maxsize=8)
def vocabulary(run: Run, position: int, sampling: SamplingConfig) -> pd.DataFrame:
    """Every token that could come next."""
    table = next_tokens(run, position, sampling)
    labels = token_labels(run)
    table = table.assign(token=[labels[token_id] for token_id in table["token_id"]])
    columns = ["rank", "token", "token_id", "logit", "scaled", "kept"]
    return table[[*columns, "model_probability", "probability"]]


def read_surprise(run: Run) -> pd.DataFrame:
    """The text with its surprise; positions count from 1, as in `read_tokens`."""
    table = surprise(run)
    return table.assign(position=table["position"] + 1)


def count_sentence(run: Run) -> str:
    """Characters, bytes and tokens of what is read."""
    pieces, total, _left_out = tokens.reading()
    if not total:
        return _("The empty text has no token of its own: a placeholder token is read.")
    n = len(run.input.token_ids)
    read = link.value("text")[: pieces[-1].end]
    text = _(
        "{characters:,} characters = {bytes:,} bytes become {n:,} tokens, {ratio:.1f} "
        "characters per token. The tokenizer has {known:,} tokens, the model "
        "{vocab_size:,}."
    )
    counted = text.format(
        characters=len(read),
        bytes=len(read.encode("utf-8", "replace")),
        n=n,
        ratio=len(read) / n,
        known=tokens.tokenizer_of(run.input.vocabulary).vocab_size,
        vocab_size=run.config.vocab_size,
    )
    return f"{counted} {_beyond(run)}".strip()


def _beyond(run: Run) -> str:
    """Ids that the model may write and no text stands for."""
    known = tokens.tokenizer_of(run.input.vocabulary).vocab_size
    if run.config.vocab_size <= known:
        return ""
    text = _("Ids from {first:,} on have no text here: they are shown as ⟨{first}⟩.")
    return text.format(first=known)


def chips(run: Run, position: int) -> list[Chip]:
    """The text as tokens with their ids; the pinned one told apart."""
    first, _end = text_range(run)
    found = zip(run.input.tokens or (), run.input.token_ids, strict=True)
    return [
        Chip(label, str(token_id), "pinned" if first + i == position else "read")
        for i, (label, token_id) in enumerate(found)
    ]


def sees_ahead(run: Run) -> str:
    """Where a mask lets tokens see what they are to predict; empty where it does not."""
    if not cached.sees_ahead(run):
        return ""
    return _(
        "This mask lets a token see later ones, so these are not predictions: set the "
        "mask to causal."
    )


def current_sampling() -> SamplingConfig:
    """What the state asks for."""
    return SamplingConfig(
        temperature=link.value("temperature"),
        top_k=link.value("top_k") or None,
        top_p=link.value("top_p"),
    )
