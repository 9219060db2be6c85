"""Token ids as they are: for a model whose tokenizer is not there."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from blocks.text.tokenizer import Piece

WORD = re.compile(r"\S+")
LARGEST_VOCABULARY, N_DIGITS = 2**31, 10


@dataclass(frozen=True)
class NumberTokenizer:
    """Each token id is written as its number, with space between; all else is left out."""

    vocab_size: int

    @property
    def special(self) -> Mapping[str, int]:
        """None: nothing says what the ids stand for."""
        return {}

    def encode(self, text: str) -> list[int]:
        """The token ids of a text."""
        return [piece.token_id for piece in self.pieces(text)]

    def decode(self, token_ids: Sequence[int]) -> str:
        """The numbers in a row; each begins with a space, so that texts can be joined."""
        return "".join(f" {token_id}" for token_id in token_ids)

    def pieces(self, text: str) -> tuple[Piece, ...]:
        """The tokens of a text with their places in it."""
        return tuple(
            Piece(int(word), start, start + len(word), word)
            for word, start in _words(text)
            if self._is_token(word)
        )

    def label(self, token_id: int) -> str:
        """The number."""
        return str(token_id)

    def left_out(self, text: str) -> tuple[str, ...]:
        """The words that are no token id of this model, each once."""
        found = dict.fromkeys(word for word, _start in _words(text))
        return tuple(word for word in found if not self._is_token(word))

    def to_json(self) -> str:
        """How many ids there are, as JSON."""
        return json.dumps({"kind": "numbers", "vocab_size": self.vocab_size})

    def _is_token(self, word: str) -> bool:
        is_number = word.isascii() and word.isdigit() and len(word) <= N_DIGITS
        return is_number and int(word) < self.vocab_size


def _words(text: str) -> Iterator[tuple[str, int]]:
    return ((found[0], found.start()) for found in WORD.finditer(text))
