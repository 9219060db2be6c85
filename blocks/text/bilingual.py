"""One token for each word of two languages: English between spaces, Chinese without any."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import regex

from blocks.model.model_input import PADDING
from blocks.text.bpe import END
from blocks.text.tokenizer import Piece, visible

BEGIN = "[BEGIN]"
SPECIAL = (PADDING, BEGIN, END)
OF = "'s"
"""The mark of an owner, a word of its own."""

_TIGHT = (".", "?", OF)
_HAN = regex.compile(r"\p{Han}")
_CHUNK = regex.compile(
    r"\p{Han}+"
    r"|can['’]t\b"  # which is written in one word, cannot
    r"|n['’]t\b|['’](?:s|m|re|ll)\b"
    r"|(?:(?!n['’]t\b)[\p{L}\p{N}--\p{Han}])++"  # a word, up to its n't; nothing is tried twice
    r"|[^\s]",
    regex.VERSION1 | regex.IGNORECASE,
)
_SHORT = {"can't": "cannot", "wo": "will", "n't": "not", "'m": "am", "'re": "are", "'ll": "will"}
_NEVER_OWNERS = ("he", "she", "it", "that", "this", "there", "who", "what", "where", "when", "how")
_MARKS = {".": "。", "?": "？"}
_WESTERN = {full: half for half, full in _MARKS.items()} | {"．": "."}


@dataclass(frozen=True)
class SentenceTokenizer:
    """Ids: [PAD], [BEGIN] and [END], then the words of English, then those of Chinese.

    English is read whatever its capitals, its short forms written out (don't: do not); Chinese is
    cut from the left into the longest words there are.
    """

    english: tuple[str, ...]
    chinese: tuple[str, ...]

    @property
    def vocab_size(self) -> int:
        """How many token ids there are."""
        return len(self.vocabulary)

    @property
    def special(self) -> Mapping[str, int]:
        """[PAD] fills up, [BEGIN] and [END] stand around a sentence."""
        return {name: token_id for token_id, name in enumerate(SPECIAL)}

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """What each token id means."""
        return (*SPECIAL, *self.english, *self.chinese)

    def ids(self, words: Sequence[str]) -> list[int]:
        """The token ids of words that are in the vocabulary."""
        return [self._ids[word] for word in words]

    def words(self, text: str) -> tuple[str, ...]:
        """The known words of a text, as they stand in the vocabulary."""
        return tuple(self.vocabulary[token_id] for token_id in self.encode(text))

    def encode(self, text: str) -> list[int]:
        """The token ids of a text; what is unknown is left out."""
        return [piece.token_id for piece in self.pieces(text)]

    def decode(self, token_ids: Sequence[int]) -> str:
        """A sentence as one writes it; special tokens stand for nothing."""
        words = [self.vocabulary[token_id] for token_id in token_ids if token_id >= len(SPECIAL)]
        text = ""
        for word in words:
            is_apart = text and word not in _TIGHT and not _is_chinese(text[-1] + word[0])
            text += f" {word}" if is_apart else word
        return text[:1].upper() + text[1:]

    def pieces(self, text: str) -> tuple[Piece, ...]:
        """The tokens of a text with their places in it."""
        return tuple(
            Piece(self._ids[word], start, end, visible(word))
            for word, start, end in self._cut(text)
            if word in self._ids
        )

    def label(self, token_id: int) -> str:
        """The word."""
        return visible(self.vocabulary[token_id])

    def left_out(self, text: str) -> tuple[str, ...]:
        """The words that are not known, each once."""
        found = self._cut(text)
        return tuple(dict.fromkeys(word for word, _, _ in found if word not in self._ids))

    def to_json(self) -> str:
        """Both lists of words as JSON."""
        return json.dumps({"kind": "sentences", "english": self.english, "chinese": self.chinese})

    @cached_property
    def _ids(self) -> Mapping[str, int]:
        """Words only, so that no text is ever taken for a special token."""
        return {
            word: len(SPECIAL) + place for place, word in enumerate((*self.english, *self.chinese))
        }

    @cached_property
    def _spelt(self) -> Mapping[str, str]:
        return {word.lower(): word for word in self.english}

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self.chinese))

    def _cut(self, text: str) -> Iterator[tuple[str, int, int]]:
        """Each word of a text, known or not, and its place."""
        marks = _MARKS if is_chinese(text) else _WESTERN
        before = ""
        for match in _CHUNK.finditer(text):
            start, end = match.span()
            if is_chinese(match[0]):
                yield from self._cut_chinese(match[0], start)
                continue
            small = match[0].lower().replace("’", "'")
            is_verb = small == OF and before in _NEVER_OWNERS
            before = "is" if is_verb else _SHORT.get(small, small)
            written = marks.get(before, before)
            yield (
                self._spelt.get(written, written if written in self._ids else match[0]),
                start,
                end,
            )

    def _cut_chinese(self, text: str, offset: int) -> Iterator[tuple[str, int, int]]:
        """The longest words that are known, and whole stretches that are not."""
        start = place = 0
        while place < len(text):
            lengths = range(min(self._longest, len(text) - place), 0, -1)
            length = next((n for n in lengths if text[place : place + n] in self._ids), 0)
            if length:
                if start < place:
                    yield text[start:place], offset + start, offset + place
                yield text[place : place + length], offset + place, offset + place + length
                start = place + length
            place += length or 1
        if start < place:
            yield text[start:place], offset + start, offset + place


def is_chinese(text: str) -> bool:
    """Whether there is a Chinese character in it."""
    return _HAN.search(text) is not None


def _is_chinese(text: str) -> bool:
    return is_chinese(text) or any(mark in text for mark in _WESTERN)
