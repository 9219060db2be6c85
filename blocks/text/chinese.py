"""How a tokenizer cuts Chinese: into characters, several of them in one token, or bytes."""

from collections import Counter
from functools import lru_cache
from typing import NamedTuple

import regex

from blocks.text.tokenizer import Tokenizer

HAN = regex.compile(r"\p{Han}")
SEVERAL = regex.compile(r"\p{Han}{2}")


class ChinesePieces(NamedTuple):
    """How many Chinese characters a text has, and how many of them are cut, joined or alone.

    `cut` into several tokens, as bytes; `joined` with other characters in one token. `of_several`
    of the `known` tokens of the vocabulary hold two Chinese characters or more.
    """

    characters: int
    cut: int
    joined: int
    of_several: int
    known: int

    @property
    def alone(self) -> int:
        """Characters that are one token each."""
        return self.characters - self.cut - self.joined


def chinese_pieces(text: str, reader: Tokenizer) -> ChinesePieces:
    """Count them, by the tokens that the text becomes."""
    places = {found.start() for found in HAN.finditer(text)}
    if not places:
        return ChinesePieces(0, 0, 0, 0, reader.vocab_size)
    spans = [range(piece.start, piece.end) for piece in reader.pieces(text)]
    times = Counter(place for span in spans for place in span)
    cut = {place for place in places if times[place] > 1}
    joined = {place for span in spans if len(span) > 1 for place in span} & places - cut
    return ChinesePieces(
        len(places), len(cut), len(joined), n_of_several(reader), reader.vocab_size
    )


@lru_cache(maxsize=16)
def n_of_several(reader: Tokenizer) -> int:
    """How many tokens hold two Chinese characters or more."""
    return sum(bool(SEVERAL.search(reader.decode([i]))) for i in range(reader.vocab_size))
