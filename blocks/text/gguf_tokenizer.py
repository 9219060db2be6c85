"""The tokenizer of a GGUF file, written as a tokenizer.json.

llama.cpp keeps the tokens, their kinds and merges or scores, and the *name* of the rule that splits
a text into words first. A rule that is not known here is refused by name.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)

from blocks.model.faults import N_, ConfigError, Fault
from blocks.text.bounds import LONGEST_TOKEN
from blocks.text.published import WORD_START

KEY = "tokenizer.ggml."
UNKNOWN, CONTROL, USER_DEFINED, BYTE = 2, 3, 4, 6  # kinds of tokens
KINDS = range(1, 7)
MOST_MERGES = 4_000_000  # 15 for each of the 262,144 tokens of Gemma
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
SPLIT_BY = {"llama-bpe": LLAMA3, "llama3": LLAMA3, "dbrx": LLAMA3, "qwen2": QWEN}
DIGITS_APART = ("smollm", "starcoder", "refact", "codeshell")
PLAIN = ("gpt-2", "default", "olmo", "phi-2")
BEGINS_BY_RULE = ("llama-bpe", "llama3")  # a text begins with the start token unless told


def tokenizer_json(metadata: Mapping[str, Any]) -> str | None:
    """Return the text of a tokenizer.json, or None without tokens. Raises `ConfigError`."""
    told = {key.removeprefix(KEY): value for key, value in metadata.items() if key.startswith(KEY)}
    if "tokens" not in told:
        return None
    tokens = _checked(told)
    match told.get("model"):
        case "gpt2":
            found = _of_bytes(told, tokens)
        case "llama":
            found = _of_scores(told, tokens)
        case other:
            raise _not_read("tokenizer.ggml.model", other)
    _add_special(found, told, tokens)
    return found.to_str()


def _checked(told: Mapping[str, Any]) -> list[str]:
    """The tokens, each once, with as many kinds and scores."""
    tokens, kinds = told["tokens"], told.get("token_type", [])
    scores, merges = told.get("scores", []), told.get("merges", [])
    are_lists = all(isinstance(each, list) for each in (tokens, kinds, scores, merges))
    if not are_lists or not tokens or not all(isinstance(each, str) for each in tokens):
        raise _damaged("tokens")
    if len(set(tokens)) < len(tokens) or max(map(len, tokens)) > LONGEST_TOKEN:
        raise _damaged("tokens")
    for name, values in (("token_type", kinds), ("scores", scores)):
        if len(values) not in (0, len(tokens)):
            raise _damaged(name)
    if not all(isinstance(each, str) and each.count(" ") == 1 for each in merges):
        raise _damaged("merges")
    return tokens


def _of_bytes(told: Mapping[str, Any], tokens: Sequence[str]) -> Tokenizer:
    """Byte-pair encoding over bytes, as of GPT-2."""
    rule, vocabulary = told.get("pre", "default"), {token: n for n, token in enumerate(tokens)}
    pairs = [tuple(each.split(" ")) for each in told.get("merges", [])]
    merges = [(left, right) for left, right in pairs]
    if any(part not in vocabulary for pair in merges for part in (*pair, "".join(pair))):
        raise _damaged("merges")
    whole = models.BPE(vocabulary, merges, ignore_merges=rule in BEGINS_BY_RULE)
    found = Tokenizer(whole)
    if rule == "qwen2":
        found.normalizer = normalizers.NFC()
    found.pre_tokenizer = _words_of(rule)
    found.decoder = decoders.ByteLevel()
    return found


def _words_of(rule: object) -> pre_tokenizers.PreTokenizer:
    if rule in PLAIN:
        return pre_tokenizers.ByteLevel(add_prefix_space=False)
    if rule in DIGITS_APART:
        digits = pre_tokenizers.Digits(individual_digits=True)
        return pre_tokenizers.Sequence([digits, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    if not isinstance(rule, str) or rule not in SPLIT_BY:
        raise _not_read("tokenizer.ggml.pre", rule)
    split = pre_tokenizers.Split(Regex(SPLIT_BY[rule]), "isolated")
    of_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return pre_tokenizers.Sequence([split, of_bytes])


def _of_scores(told: Mapping[str, Any], tokens: Sequence[str]) -> Tokenizer:
    """SentencePiece's byte-pair encoding: of two neighbours those are joined that score highest."""
    kinds, vocabulary = told.get("token_type", []), {token: n for n, token in enumerate(tokens)}
    unknown = next(
        (token for token, kind in zip(tokens, kinds, strict=False) if kind == UNKNOWN), None
    )
    has_bytes = BYTE in kinds
    whole = models.BPE(
        vocabulary,
        _merges(tokens, told.get("scores", []), vocabulary),
        unk_token=unknown,
        fuse_unk=True,
        byte_fallback=has_bytes,
    )
    found = Tokenizer(whole)
    has_prefix = told.get("add_space_prefix", True) is True
    start = [normalizers.Prepend(WORD_START)] if has_prefix else []
    found.normalizer = normalizers.Sequence([*start, normalizers.Replace(" ", WORD_START)])
    spaces: list[Any] = [
        decoders.Replace(WORD_START, " "),
        decoders.ByteFallback(),
        decoders.Fuse(),
    ]
    strip = [decoders.Strip(" ", 1, 0)] if has_prefix else []
    found.decoder = decoders.Sequence([*spaces, *strip])
    return found


def _merges(
    tokens: Sequence[str], scores: Sequence[float], vocabulary: Mapping[str, int]
) -> list[tuple[str, str]]:
    """Every way to join two tokens into a third: by its score, then by the ids of the two."""
    if len(scores) != len(tokens):
        raise _damaged("scores")
    ways = (
        (-score, vocabulary[left], vocabulary[right])
        for token, score in zip(tokens, scores, strict=True)
        for at in range(1, len(token))
        if (left := token[:at]) in vocabulary and (right := token[at:]) in vocabulary
    )
    found = [*islice(ways, MOST_MERGES + 1)]
    if len(found) > MOST_MERGES:
        raise _damaged("tokens")
    return [(tokens[left], tokens[right]) for _score, left, right in sorted(found)]


def _add_special(found: Tokenizer, told: Mapping[str, Any], tokens: Sequence[str]) -> None:
    """Tokens that stand for no text, those that are never split, and what begins a text."""
    kinds = told.get("token_type", [])
    special = {UNKNOWN: True, CONTROL: True, USER_DEFINED: False}
    for token, kind in zip(tokens, kinds, strict=False):
        if kind in special:
            added = AddedToken(token, special=special[kind], normalized=False)
            found.add_special_tokens([added]) if special[kind] else found.add_tokens([added])
    by_rule = told.get("model") == "llama" or told.get("pre") in BEGINS_BY_RULE
    start = told.get("bos_token_id")
    if told.get("add_bos_token", by_rule) is not True or start is None:
        return
    if type(start) is not int or not 0 <= start < len(tokens):
        raise _damaged("bos_token_id")
    begin = f"{json.dumps(tokens[start])[1:-1]}:0 $A:0"
    found.post_processor = processors.TemplateProcessing(
        single=begin, special_tokens=[(tokens[start], start)]
    )


def _damaged(name: str) -> ConfigError:
    text = N_("The GGUF file is damaged at {name}: convert it again")
    return ConfigError([Fault(text, {"name": KEY + name})])


def _not_read(key: str, value: object) -> ConfigError:
    text = N_("{key} is {value} in the GGUF file, which is not supported here")
    return ConfigError([Fault(text, {"key": key, "value": ascii(value)[:40]})])
