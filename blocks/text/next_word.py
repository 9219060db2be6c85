"""The next word of a text: as many tokens as it takes."""

import re
from collections.abc import Sequence
from typing import Any, Protocol

from blocks.text.tokenizer import Tokenizer

UNFINISHED = re.compile(r"(\\x[0-9a-f]{2})+$")  # how a tokenizer writes bytes of no character
MOST_TOKENS = 8


class Growing(Protocol):
    """A text that grows token by token, as a `Generation` does."""

    new_tokens: list[Any]

    def advance(self, n_tokens: int) -> None:
        """Let the text grow until it has this many new tokens."""


def next_word(growing: Growing, reader: Tokenizer, begun: Sequence[int] = ()) -> str:
    """Let a text grow by a word and return that: tokens, until one follows that begins another.

    `begun`: tokens of the word that the text already ends in. A character in bytes is finished.
    """
    n, text = 0, reader.decode(begun)
    while n + len(begun) < MOST_TOKENS:
        n += 1
        growing.advance(n)
        found = [token.token_id for token in growing.new_tokens]
        longer = reader.decode([*begun, *found])
        if text and not UNFINISHED.search(text) and _begins_a_word(longer[len(text) :]):
            return text
        text = longer
    return UNFINISHED.sub("", text)


def _begins_a_word(text: str) -> bool:
    """Letters of an alphabet go on with a word; a space, a mark or a Chinese character do not."""
    return not (text[:1].isascii() and text[:1].isalpha())
