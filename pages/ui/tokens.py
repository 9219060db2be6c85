"""The reader's text as the tokens of a whole model."""

from dataclasses import replace
from typing import NamedTuple

from blocks.kinds import Architecture
from blocks.run import Run
from blocks.text.bpe import MASK
from blocks.text.tokenizer import Piece, Tokenizer
from blocks.text.tokenizers import shipped_tokenizer
from blocks.text.words import PADDING
from pages.ui import link, starts
from pages.ui.settings import MAX_TOKENS

EMPTY = "∅"


class Reading(NamedTuple):
    """The tokens that the model reads, how many the text has in all, and what has no token."""

    pieces: tuple[Piece, ...]
    total: int
    left_out: tuple[str, ...]


def vocabulary() -> str:
    """Whose tokens the text is cut into: the trained model's; empty for those that ship with us."""
    return starts.start(link.value("preset")).weights


def tokenizer() -> Tokenizer:
    """The tokenizer that the state asks for."""
    return tokenizer_of(vocabulary())


def tokenizer_of(vocabulary: str) -> Tokenizer:
    """The tokenizer of a trained model, or the one that ships with us."""
    return starts.model(vocabulary).tokenizer if vocabulary else shipped_tokenizer()


def label(run: Run, token_id: int) -> str:
    """What a token of a run is called; a model may know more tokens than its tokenizer."""
    reader = tokenizer_of(run.input.vocabulary)
    return reader.label(token_id) if token_id < reader.vocab_size else f"⟨{token_id}⟩"


def most_tokens() -> int:
    """As many as the model reads at once, and as can be drawn."""
    return max(1, min(MAX_TOKENS, link.config().max_seq_len - link.value("n_padding")))


def reading(text: str | None = None) -> Reading:
    """A text (None: that of the state), cut to what the model can read."""
    text, reader = link.value("text") if text is None else text, tokenizer()
    found = _with_masks(text, reader) if can_hide() else reader.pieces(text)
    pieces = found[: most_tokens()] or (Piece(padding_id(), 0, 0, EMPTY),)
    return Reading(pieces, len(found), reader.left_out(text))


def _with_masks(text: str, reader: Tokenizer) -> tuple[Piece, ...]:
    """The tokens of a text in which a reader wrote [MASK] for what is to be guessed."""
    found: list[Piece] = []
    start = 0
    for i, part in enumerate(text.split(MASK)):
        if i:
            found.append(Piece(reader.special[MASK], start, start + len(MASK), MASK))
            start += len(MASK)
        for piece in reader.pieces(part):
            found.append(replace(piece, start=start + piece.start, end=start + piece.end))
        start += len(part)
    return tuple(found)


def padding_id() -> int:
    """The token that fills up."""
    return tokenizer().special.get(PADDING, 0)


def hide(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """The tokens with the pinned one hidden behind [MASK], unless the reader has hidden one."""
    if any(piece.label == MASK for piece in pieces):
        return pieces
    i = hidden_token(len(pieces))
    mask = Piece(tokenizer().special[MASK], pieces[i].start, pieces[i].end, MASK)
    return (*pieces[:i], mask, *pieces[i + 1 :])


def hidden_token(n_tokens: int) -> int:
    """Which token is hidden: the pinned one, else one in the middle."""
    chosen = link.value("token")
    return n_tokens // 2 if chosen is None else min(chosen, n_tokens - 1)


def can_hide() -> bool:
    """Whether the model is one that guesses what is hidden."""
    is_encoder = starts.start(link.value("preset")).config.architecture is Architecture.ENCODER
    return is_encoder and MASK in tokenizer().special
