"""Translating between English and Chinese: pairs of sentences and which word stands for which.

Both sides of a pair come from one tree of the synchronous grammar, so they mean the same, and no
two pairs share a side: each sentence has one translation. Words that only one language needs are
linked to what they belong to (of 三本书 the measure word 本 to "three", of 看了 the 了 to "saw")
or, as "the" and "to", to nothing.
"""

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count, islice

from blocks.corpora.stories import Language
from blocks.corpora.synchronous import Links, SynchronousGrammar, Tree
from blocks.corpora.translation_rules import SENTENCE, rules
from blocks.text.bilingual import SentenceTokenizer

LENGTHS = range(3, 15)
"""Words and marks of a sentence, in either language."""
HELD_OUT_EVERY = 8
_SIDES = {Language.ENGLISH: 0, Language.CHINESE: 1}
_VOWELS = tuple("aeiou")
_MARKS = (".", "?", "。", "？")
_ASKING = frozenset(
    (
        *("do", "does", "did", "am", "is", "are", "was", "were", "will", "can"),
        *("what", "who", "whose", "which", "where", "why", "how"),
        *("吗", "什么", "谁", "哪", "哪里", "几", "为什么"),
    )
)
"""Words that begin a question in English, and words that make one in Chinese."""


@dataclass(frozen=True)
class Pair:
    """A sentence in both languages, word by word.

    `links` holds (place in `english`, place in `chinese`) of words that stand for each other.
    `core` says who does what to what, in Chinese, whatever the tense or the number.
    """

    english: tuple[str, ...]
    chinese: tuple[str, ...]
    links: Links
    core: tuple[str, ...]

    @property
    def is_held_out(self) -> bool:
        """Whether this is never trained on: the core decides, so that no other form of it is."""
        return is_held_out(self.core)

    def words(self, language: Language) -> tuple[str, ...]:
        """One side."""
        return self.english if language is Language.ENGLISH else self.chinese

    def links_from(self, source: Language) -> Links:
        """The links as (place in the source, place in the translation), in order."""
        if source is Language.ENGLISH:
            return self.links
        return tuple(sorted((chinese, english) for english, chinese in self.links))


@cache
def grammar() -> SynchronousGrammar:
    """The grammar of the translator, English on the left and Chinese on the right."""
    return SynchronousGrammar(rules(), start=SENTENCE, lengths=LENGTHS)


@cache
def tokenizer() -> SentenceTokenizer:
    """One vocabulary for both languages."""
    english = sorted({*grammar().vocabulary(0), "an"})
    return SentenceTokenizer(tuple(english), tuple(grammar().vocabulary(1)))


def is_held_out(core: Sequence[str]) -> bool:
    """The side of a core by its fingerprint; one word alone is always trained on."""
    if len(core) < 2:
        return False
    digest = hashlib.blake2b("|".join(core).encode(), digest_size=8).digest()
    return int.from_bytes(digest) % HELD_OUT_EVERY == 0


def pair(seed: int, index: int, *, held_out: bool = False) -> Pair:
    """A pair of one side of the split, always the same for the same seed and index."""
    source = random.Random(f"translation {seed} {index} {held_out}")
    return _pair(_drawn(source, held_out=held_out))


def sentences(source: random.Random, *, held_out: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of the next pair, English and Chinese, without links."""
    return _both(_drawn(source, held_out=held_out))


def _drawn(source: random.Random, *, held_out: bool) -> Tree:
    while True:
        tree = grammar().draw(source)
        if is_held_out(tree.core()) == held_out:
            return tree


def held_out_pairs(n: int, seed: int = 0) -> tuple[Pair, ...]:
    """The first `n` different pairs that are never learned from."""
    drawn = (pair(seed, index, held_out=True) for index in count())
    return tuple(islice(dict.fromkeys(islice(drawn, 2 * n)), n))


def translations(words: Sequence[str], source: Language) -> tuple[Pair, ...]:
    """What the grammar makes of a sentence: one pair, or none where it cannot say this."""
    known = [*words]
    if source is Language.ENGLISH:
        known = ["a" if word == "an" else word for word in words]
    found = (_pair(tree) for tree in grammar().read(known, _SIDES[source]))
    return tuple(each for each in found if each.words(source) == tuple(words))


def with_mark(words: Sequence[str]) -> tuple[str, ...]:
    """A reader's words with the full stop or question mark that he left out."""
    if not words or words[-1] in _MARKS:
        return tuple(words)
    is_english = words[0] in tokenizer().english
    asks = words[0] in _ASKING if is_english else not _ASKING.isdisjoint(words)
    return *words, _MARKS[2 * (not is_english) + asks]


def n_pairs() -> int:
    """How many pairs there are, counted from the rules."""
    return grammar().n_trees


def _pair(tree: Tree) -> Pair:
    return Pair(*_both(tree), tree.links(), tree.core())


def _both(tree: Tree) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of both sides."""
    english, chinese = (tree.words(side) for side in range(2))
    return _with_an(english), tuple(chinese)


def _with_an(words: list[str]) -> tuple[str, ...]:
    """The article that fits the sound of the next word."""
    following = [*words[1:], ""]
    return tuple(
        "an" if word == "a" and after.startswith(_VOWELS) else word
        for word, after in zip(words, following, strict=True)
    )
