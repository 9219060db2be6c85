"""How much of a text a tokenizer has no tokens for: it is read as bytes, or in scraps."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from blocks.text.tokenizer import Piece, Tokenizer

WORD = re.compile(r"[^\W\d_]{3,}", re.ASCII)  # of an alphabet: elsewhere a character is a word
SHORT = 2.0  # characters of a piece, on average: such a word is in scraps
MANY = 0.1, 0.25  # shares of characters as bytes, and of words in scraps, that spoil a text


class Legibility(NamedTuple):
    """What of a text has tokens, each with how many there are in all.

    `as_bytes`: characters, other than white space, that several tokens share or that have none;
    `in_scraps`: words of three letters and more, cut into pieces of fewer than two on average.
    """

    as_bytes: int
    characters: int
    in_scraps: int
    words: int

    @property
    def is_in_bytes(self) -> bool:
        """Whether so many characters are read as bytes that little of the text is left."""
        return self.as_bytes > MANY[0] * self.characters

    @property
    def is_in_scraps(self) -> bool:
        """Whether so many words are."""
        return self.in_scraps > MANY[1] * self.words

    @property
    def is_good(self) -> bool:
        """Whether neither spoils it."""
        return not (self.is_in_bytes or self.is_in_scraps)


def legibility(text: str, reader: Tokenizer) -> Legibility:
    """Count what of a text a tokenizer has tokens for.

    Measured on its tokens: no list of languages or scripts is asked.
    """
    pieces = [piece for piece in reader.pieces(text) if piece.end > piece.start]
    times = [0] * len(text)
    for piece in pieces:
        for i in range(piece.start, piece.end):
            times[i] += 1
    unknown = sum(text.count(sign) * len(sign) for sign in reader.left_out(text))
    visible = [n for n, sign in zip(times, text, strict=True) if not sign.isspace()]
    words = [found.span() for found in WORD.finditer(text)]
    scraps = sum(_is_in_scraps(*span, pieces) for span in words)
    cut = sum(n > 1 for n in visible)
    return Legibility(min(cut + unknown, len(visible)), len(visible), scraps, len(words))


def _is_in_scraps(start: int, end: int, pieces: Sequence[Piece]) -> bool:
    """Whether a word is cut into more pieces than half its letters."""
    first = bisect_right(pieces, start, key=lambda piece: piece.end)
    n = 0
    while first + n < len(pieces) and pieces[first + n].start < end:
        n += 1
    return n > 1 and (end - start) / n < SHORT
