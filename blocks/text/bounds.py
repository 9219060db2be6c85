"""What a published tokenizer may do to a text: what is certain to stay short and to end soon.

A tokenizer.json is a small program: it replaces, searches, puts tokens around a text. One that
doubles a text thirty times, or searches for ever, would hold up everybody on a server.
"""

import base64
import binascii
import json
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import tokenizers
from tokenizers import normalizers

from blocks.text.patterns import RUN, search

MOST_STEPS, MOST_GROWTH, MOST_ADDED, LONGEST_TOKEN, LONGEST_WORD = 16, 16, 64, 1_000, 1_000
LONGEST_CHARACTER = 40
"""Characters that one of a text becomes in a table of SentencePiece: of NFKC, 18 at most."""

NORMALIZING = RUN * 4
SPLITTING = RUN * 32
DECODING = 64
"""Tries at one place of a text: of all searches of a tokenizer's steps together."""

_INNER = "normalizers", "pretokenizers", "decoders", "processors"
_NORMALIZERS = {
    **dict.fromkeys(("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Nmt", "Strip", "StripAccents"), 1),
    "BertNormalizer": 3,  # spaces around what is Chinese
    "ByteLevel": 4,
}
_PRE_TOKENIZERS = (
    *("BertPreTokenizer", "ByteLevel", "CharDelimiterSplit", "Digits", "Metaspace", "Punctuation"),
    *("Split", "UnicodeScripts", "Whitespace", "WhitespaceSplit", "FixedLength"),
)
_DECODERS = (
    *("BPEDecoder", "ByteFallback", "ByteLevel", "CTC", "Fuse", "Metaspace", "Replace", "Strip"),
    "WordPiece",
)
Step = Mapping[str, Any]


def is_bounded(model: tokenizers.Tokenizer) -> bool:
    """Whether the steps of a tokenizer let a text grow by little, and none takes long."""
    return (
        _normalizes(steps_of(model.normalizer))
        and _splits(steps_of(model.pre_tokenizer))
        and _decodes(steps_of(model.decoder))
        and _puts_around(steps_of(model.post_processor))
        and _has_short_words(model)
        and _finds_something(model)
    )


def normalizing(model: tokenizers.Tokenizer) -> tuple[normalizers.Normalizer, ...]:
    """The steps that a text goes through first, each alone."""
    return tuple(map(_made, steps_of(model.normalizer)))


def stays_short(text: str, steps: Iterable[normalizers.Normalizer]) -> bool:
    """Whether these steps let this text grow by little; the first that does not is the last."""
    most = 4 * len(text) + RUN // 4
    for step in steps:
        text = step.normalize_str(text)
        if len(text) > most:
            return False
    return True


def _made(step: Step) -> normalizers.Normalizer:
    made = normalizers.NFC()
    made.__setstate__(json.dumps(step).encode())  # which makes any kind of it
    return made


def steps_of(part: Any) -> list[Step]:
    """All that a part of a tokenizer does, one after the other, as its file says it."""
    return [] if part is None else [*_flat(json.loads(part.__getstate__()))]


def _flat(step: Step) -> Iterator[Step]:
    if step["type"] != "Sequence":
        yield step
        return
    for name in _INNER:
        for each in step.get(name, ()):
            yield from _flat(each)


def _normalizes(steps: list[Step]) -> bool:
    tables = [step for step in steps if step["type"] == "Precompiled"]
    growth = 1.0
    for step in steps:
        growth *= 1 if step in tables else _growth(step)
    are_short = all(_longest(step) <= LONGEST_CHARACTER for step in tables)
    is_short = growth <= MOST_GROWTH and len(tables) <= 1 and are_short
    return len(steps) <= MOST_STEPS and is_short and _tries(steps) <= NORMALIZING


def _growth(step: Step) -> float:
    """How many times as long a text that some step has made can become; inf where unknown."""
    kind = step["type"]
    if kind == "Prepend":
        return 1 + _written(step["prepend"])
    if kind == "Replace":
        return _replaced(step)
    return _NORMALIZERS.get(kind, float("inf"))


def _replaced(step: Step) -> float:
    new, sought = _written(step["content"]), step["pattern"].get("String")
    if sought is not None:
        return max(1.0, new / len(sought)) if sought else 1.0 + new
    found = search(step["pattern"]["Regex"])
    return max(1.0, new) if found and not found.empty else 1.0 + new


def _written(text: str) -> int:
    """Characters of a text when all are written apart, as other steps may do with it."""
    return len(unicodedata.normalize("NFKD", text.lower()))


def _longest(table: Step) -> int:
    """Most characters that one becomes: the table ends in texts with a zero byte after each."""
    try:
        raw = base64.b64decode(table["precompiled_charsmap"])
    except (binascii.Error, TypeError):
        return LONGEST_CHARACTER + 1
    texts = raw[4 + int.from_bytes(raw[:4], "little") :].split(b"\0")
    return max(_written(text.decode("utf-8", "replace")) for text in texts)


def _splits(steps: list[Step]) -> bool:
    kinds = [step["type"] for step in steps]
    are_known = all(kind in _PRE_TOKENIZERS for kind in kinds)
    add_once = all(kinds.count(kind) <= 1 for kind in ("ByteLevel", "Metaspace"))
    return len(steps) <= MOST_STEPS and are_known and add_once and _tries(steps) <= SPLITTING


def _decodes(steps: list[Step]) -> bool:
    growth = 1.0
    for step in steps:
        growth *= _replaced(step) if step["type"] == "Replace" else 1
    are_known = all(step["type"] in _DECODERS for step in steps) and growth <= MOST_GROWTH
    return len(steps) <= MOST_STEPS and are_known and _tries(steps) <= DECODING


def _tries(steps: list[Step]) -> float:
    """Of all searches at one place; inf where that cannot be told of one."""
    texts = (step.get("pattern", {}).get("Regex") for step in steps)
    found = [search(text) for text in texts if text is not None]
    return sum(each.tries if each else float("inf") for each in found)


def _puts_around(steps: list[Step]) -> bool:
    """Whether the tokens around a text are few, and it stands between them once."""
    n_added = 0
    for step in steps:
        parts = step.get("single", ())
        names = [part["SpecialToken"]["id"] for part in parts if "SpecialToken" in part]
        n_added += sum(len(step["special_tokens"][name]["ids"]) for name in names)
        if len(parts) - len(names) > 1:
            return False
    return len(steps) <= MOST_STEPS and n_added <= MOST_ADDED


def _finds_something(model: tokenizers.Tokenizer) -> bool:
    """Whether each added token is still a text after the steps: nothing is found for ever."""
    added = model.get_added_tokens_decoder().values()
    texts = [token.content for token in added if token.normalized]
    return all(map(model.normalizer.normalize_str, texts)) if model.normalizer else True


def _has_short_words(model: tokenizers.Tokenizer) -> bool:
    """Whether what is looked up to find a token is short."""
    names = "continuing_subword_prefix", "end_of_word_suffix"
    affixes = (getattr(model.model, name, None) or "" for name in names)
    most = getattr(model.model, "max_input_chars_per_word", 0)
    return max(map(len, affixes)) <= LONGEST_TOKEN and most <= LONGEST_WORD
