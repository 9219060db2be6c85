"""One token for each word of a list."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from blocks.text.tokenizer import Piece, visible
from blocks.text.words import words


@dataclass(frozen=True)
class WordTokenizer:
    """The id of a word is its place in `vocabulary`; all others are left out.

    Text is cut as `blocks.text.words` does it; decoding puts one space between words.
    """

    vocabulary: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> "WordTokenizer":
        """The words of a text, sorted."""
        found, _ = words(text, at_most=len(text))
        return cls(tuple(sorted(set(found))))

    @property
    def vocab_size(self) -> int:
        """How many words there are."""
        return len(self.vocabulary)

    @property
    def special(self) -> Mapping[str, int]:
        """None: every token is a word."""
        return {}

    def encode(self, text: str) -> list[int]:
        """The token ids of a text."""
        return [piece.token_id for piece in self.pieces(text)]

    def decode(self, token_ids: Sequence[int]) -> str:
        """The words, with a space between them."""
        return " ".join(self.vocabulary[token_id] for token_id in token_ids)

    def pieces(self, text: str) -> tuple[Piece, ...]:
        """The tokens of a text with their places in it."""
        return tuple(
            Piece(self._ids[word], start, start + len(word), visible(word))
            for word, start in _placed(text)
            if word in self._ids
        )

    def label(self, token_id: int) -> str:
        """The word."""
        return visible(self.vocabulary[token_id])

    def left_out(self, text: str) -> tuple[str, ...]:
        """The words outside of the list, each once."""
        found = dict.fromkeys(word for word, _ in _placed(text))
        return tuple(word for word in found if word not in self._ids)

    def to_json(self) -> str:
        """The list of words as JSON."""
        return json.dumps({"kind": "words", "words": self.vocabulary})

    @cached_property
    def _ids(self) -> Mapping[str, int]:
        return {word: token_id for token_id, word in enumerate(self.vocabulary)}


def _placed(text: str) -> Iterator[tuple[str, int]]:
    """Each word of a text and the character at which it starts."""
    end = 0
    for word in words(text, at_most=len(text))[0]:
        start = text.index(word, end)
        end = start + len(word)
        yield word, start
