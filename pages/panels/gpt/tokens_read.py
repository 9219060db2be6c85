"""What the model reads: the text as tokens with their ids."""

import pandas as pd
import streamlit as st

from blocks.model.faults import N_
from blocks.observe.run import Run
from blocks.text.chinese import chinese_pieces
from pages.page.declared import Panel
from pages.page.frame import section
from pages.show.explain import explained
from pages.show.parts import File
from pages.stage import present, tokens
from pages.state import labelled
from pages.state.fields import CHAT
from pages.state.values import State
from pages.words import chips
from pages.words.chips import Chip
from pages.words.language import _, fill, ngettext, sentences

MOST_ROWS = 9  # of a table in front of a class


def read_tokens(text: str) -> pd.DataFrame:
    """The text, a row per token: label, id, its characters from 1, and what stands there."""
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


def counted(run: Run, whole: str) -> str:
    """Characters, bytes and tokens of what is read."""
    pieces, total, _left_out = tokens.reading()
    if not total:
        return _("Empty text has no tokens: the model reads a placeholder token instead.")
    n = sum(piece.end > piece.start for piece in pieces) or len(pieces)
    known = tokens.tokenizer_of(run.input.vocabulary).vocab_size
    read = whole[: pieces[-1].end]
    n_bytes = len(read.encode("utf-8", "replace"))
    said = _("{characters} ({bytes}) in {tokens}: {ratio:.1f} characters per token.").format(
        characters=ngettext("{n:,} character", "{n:,} characters", len(read)).format(n=len(read)),
        bytes=ngettext("{n:,} byte", "{n:,} bytes", n_bytes).format(n=n_bytes),
        tokens=ngettext("{n:,} token", "{n:,} tokens", n).format(n=n),
        ratio=len(read) / n,
    )
    said = sentences(said, _in_chinese(read, run.input.vocabulary), _put_around(len(pieces) - n))
    if run.config.vocab_size == known:
        return said
    text = _("The tokenizer's vocabulary has {known:,} tokens, and the model's has {vocab_size:,}.")
    said = sentences(said, text.format(known=known, vocab_size=run.config.vocab_size))
    if run.config.vocab_size < known:
        return said
    text = _("Ids from {first:,} on have no text here; they are shown as ⟨{first}⟩.")
    return sentences(said, text.format(first=known))


def _in_chinese(text: str, vocabulary: str) -> str:
    """How Chinese is cut here; empty of a text that has none."""
    found = chinese_pieces(text, tokens.tokenizer_of(vocabulary))
    if not found.characters:
        return ""
    cut = _(
        "Of {characters:,} Chinese characters, {alone:,} are single tokens, {joined:,} share a "
        "token with others, and {cut:,} are split into bytes."
    )
    text = _(
        "None of the {known:,} tokens of this vocabulary consists of several Chinese "
        "characters; in large vocabularies, common words are often single tokens."
    )
    if found.of_several:
        text = _(
            "{of_several:,} of the {known:,} tokens of this vocabulary consist of several Chinese "
            "characters, as many common words do."
        )
    return sentences(fill(cut, found), fill(text, found))


def _put_around(n: int) -> str:
    """How many tokens stand around those of the text; empty where none do."""
    if not n:
        return ""
    text = ngettext(
        "{n} more token is added around them automatically.",
        "{n} more tokens are added around them automatically.",
        n,
    )
    if tokens.prompt() == CHAT:
        text = ngettext(
            "The model's chat template adds {n} more token around them.",
            "The model's chat template adds {n} more tokens around them.",
            n,
        )
    return text.format(n=n)


def table(text: str) -> pd.DataFrame:
    """The text token by token."""
    found = read_tokens(text)
    first, last = found["first_character"].astype(str), found["last_character"].astype(str)
    return pd.DataFrame(
        {
            _("position"): found["position"],
            _("token"): found["token"],
            _("id"): found["token_id"],
            _("characters"): first.where(first == last, first + "–" + last),
        }
    )


@section
def what_is_read(run: Run, state: State) -> None:
    """The text as tokens with their ids; the pinned one told apart."""
    explained(("tokenization",), key="tokens").info(
        counted(run, state.text), icon=":material/lightbulb:"
    )
    pinned = labelled.pinned_token(run, state) - run.input.text.start
    labels, token_ids = run.input.tokens or (), run.input.token_ids
    found = zip(labels, token_ids, tokens.roles(run, token_ids), strict=True)
    read = [
        Chip(label, str(token_id), "pinned" if i == pinned else role)
        for i, (label, token_id, role) in enumerate(found)
    ]
    left, right = st.columns([7, 4], gap="large")
    with left:
        chips.show(read, key="token_chips")
    if present.is_on():
        right.table(table(state.text)[:MOST_ROWS], border="horizontal", hide_index=True)
        return
    height = chips.SCROLLED if len(read) > chips.FEW else 212
    right.dataframe(table(state.text), hide_index=True, key="token_table", height=height)


PANEL = Panel(
    "tokens",
    N_("What does it read?"),
    what_is_read,
    fields=("n_layers", "d_model"),
    at=lambda _run, state: (state.text,),
    shows=(File(read_tokens, "tokens"),),
)
