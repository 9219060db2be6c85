"""The reader's text as the tokens of a whole model."""

from typing import NamedTuple

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


def reading() -> Reading:
    """The text of the state, cut to what the model can read."""
    text, reader = link.value("text"), tokenizer()
    found = reader.pieces(text)
    pieces = found[: most_tokens()] or (Piece(padding_id(), 0, 0, EMPTY),)
    return Reading(pieces, len(found), reader.left_out(text))


def padding_id() -> int:
    """The token that fills up."""
    return tokenizer().special.get(PADDING, 0)


def hide(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """The tokens with the pinned one hidden behind [MASK], as a masked-word model reads them."""
    i = hidden_token(len(pieces))
    mask = Piece(tokenizer().special[MASK], pieces[i].start, pieces[i].end, MASK)
    return (*pieces[:i], mask, *pieces[i + 1 :])


def hidden_token(n_tokens: int) -> int:
    """Which token is hidden: the pinned one, else one in the middle."""
    chosen = link.value("token")
    return n_tokens // 2 if chosen is None else min(chosen, n_tokens - 1)


def can_hide() -> bool:
    """Whether the vocabulary has a token to hide another behind."""
    return MASK in tokenizer().special
