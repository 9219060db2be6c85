"""Tokenizers from files: ours, and those that a reader brings."""

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.shipped import shipped
from blocks.text.bilingual import SPECIAL, SentenceTokenizer
from blocks.text.bpe import LONGEST_TOKEN, N_BASE, BytePairTokenizer
from blocks.text.characters import CharacterTokenizer
from blocks.text.json_text import read_json
from blocks.text.numbers import LARGEST_VOCABULARY, NumberTokenizer
from blocks.text.published import PublishedTokenizer, published_tokenizer
from blocks.text.tokenizer import Tokenizer
from blocks.text.vocabulary import WordTokenizer

SHIPPED = shipped("tokenizers", "bpe.json")


@cache
def shipped_tokenizer() -> BytePairTokenizer:
    """Our own byte-pair tokenizer, with 1,024 token ids."""
    return _byte_pairs(json.loads(SHIPPED.read_text(encoding="utf-8")))


def tokenizer_from_json(text: str) -> Tokenizer:
    """The tokenizer that `to_json` wrote. Raises `ConfigError` where the text is no such thing."""
    try:
        read = read_json(text)
    except (ValueError, RecursionError):
        read = None
    kind = read.get("kind") if isinstance(read, dict) else None
    if not isinstance(kind, str) or kind not in _READERS:
        said = N_("The file is not a Blockscope tokenizer: use one saved here")
        raise ConfigError([Fault(said)])
    return _READERS[kind](read)


def _byte_pairs(read: Mapping[str, Any]) -> BytePairTokenizer:
    merges = read.get("merges")
    if not isinstance(merges, list):
        raise _damaged("merges")
    if not all(_is_pair(pair, N_BASE + number) for number, pair in enumerate(merges)):
        raise _damaged("merges")
    tokenizer = BytePairTokenizer(tuple((left, right) for left, right in merges))
    try:
        n_tokens = tokenizer.vocab_size
    except (ValueError, IndexError):  # too long, or of a token that a repeated merge did not make
        raise _damaged("merges") from None
    if n_tokens != N_BASE + len(merges):  # two merges would make the same token
        raise _damaged("merges")
    return tokenizer


def _is_pair(pair: object, n_known: int) -> bool:
    """Whether this is a pair of ids that are known by now, none of them special."""
    if not isinstance(pair, list) or len(pair) != 2:
        return False
    return all(type(part) is int and N_BASE - 256 <= part < n_known for part in pair)


def _alphabet(read: Mapping[str, Any]) -> CharacterTokenizer:
    characters = read.get("characters")
    if not isinstance(characters, str) or not characters or _repeats(characters):
        raise _damaged("characters")
    return CharacterTokenizer(characters)


def _vocabulary(read: Mapping[str, Any]) -> WordTokenizer:
    return WordTokenizer(_words(read, "words"))


def _sentences(read: Mapping[str, Any]) -> SentenceTokenizer:
    english, chinese = (_words(read, name) for name in ("english", "chinese"))
    if not {*SPECIAL, *english}.isdisjoint(chinese) or not {*SPECIAL}.isdisjoint(english):
        raise _damaged("chinese")  # a word would have two ids
    return SentenceTokenizer(english, chinese)


def _words(read: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """A list of different words, not empty."""
    words = read.get(name)
    if not isinstance(words, list) or not words:
        raise _damaged(name)
    are_words = all(isinstance(word, str) and 0 < len(word) <= LONGEST_TOKEN for word in words)
    if not are_words or _repeats(words):
        raise _damaged(name)
    return tuple(words)


def _repeats(members: str | list[str]) -> bool:
    return len(set(members)) < len(members)


def _damaged(name: str) -> ConfigError:
    text = N_("The tokenizer file is damaged at {name}: save it again")
    return ConfigError([Fault(text, {"name": name})])


def _published(read: Mapping[str, Any]) -> PublishedTokenizer:
    text = read.get("tokenizer")
    if not isinstance(text, str):
        raise _damaged("tokenizer")
    return published_tokenizer(text)


def _numbers(read: Mapping[str, Any]) -> NumberTokenizer:
    vocab_size = read.get("vocab_size")
    if type(vocab_size) is not int or not 0 < vocab_size <= LARGEST_VOCABULARY:
        raise _damaged("vocab_size")
    return NumberTokenizer(vocab_size)


_READERS: Mapping[str, Callable[[Mapping[str, Any]], Tokenizer]] = {
    "bpe": _byte_pairs,
    "characters": _alphabet,
    "words": _vocabulary,
    "sentences": _sentences,
    "published": _published,
    "numbers": _numbers,
}
