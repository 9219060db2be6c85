"""Byte-level byte-pair encoding: start from 256 bytes, join the commonest pair, again and again.

Every text can be written, because every text is bytes. Sources: Sennrich et al. 2016
(arXiv:1508.07909); Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", 2.2.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import tokenizers
from tokenizers import models, pre_tokenizers, trainers

from blocks.model.model_input import PADDING
from blocks.text.tokenizer import Piece, byte_places, bytes_label, part_label, visible, written

MASK, END = "[MASK]", "[END]"
SPECIAL = (PADDING, MASK, END)
N_BASE = len(SPECIAL) + 256
LONGEST_TOKEN, MOST_BYTES = 1_000, 2**24
"""Bytes of one token, and of all: each merge may double what it joins."""

# A Chinese character, a word, a number's digit, other signs, white space: no token crosses these.
_PRETOKENS = r"\p{Han}| ?[\p{L}\p{M}&&[^\p{Han}]]+| ?\p{N}| ?[^\s\p{L}\p{M}\p{N}]+|\s+(?!\S)|\s+"


@dataclass(frozen=True)
class BytePairTokenizer:
    """Ids: the special tokens, the 256 bytes, then one for what each merge newly joins.

    `merges` holds pairs of ids, the earlier ones joined first; a pair refers to earlier ids only.
    Its tokens raise `ValueError` where one is longer than `LONGEST_TOKEN`.
    """

    merges: tuple[tuple[int, int], ...]

    @property
    def vocab_size(self) -> int:
        """How many token ids there are."""
        return len(self._tokens)

    @property
    def special(self) -> Mapping[str, int]:
        """[PAD] fills up, [MASK] hides a token, [END] stands between two texts."""
        return {name: token_id for token_id, name in enumerate(SPECIAL)}

    def encode(self, text: str) -> list[int]:
        """The token ids of a text; half a surrogate pair is read as "?"."""
        return self._model.encode(written(text).decode()).ids

    def decode(self, token_ids: Sequence[int]) -> str:
        r"""The text of some token ids; bytes that form no character are written as \xe4."""
        joined = b"".join(self._tokens[token_id] for token_id in token_ids)
        return joined.decode("utf-8", "backslashreplace")

    def pieces(self, text: str) -> tuple[Piece, ...]:
        """The tokens of a text; one that is a part of a character is labelled like 你 1/3."""
        token_ids = self.encode(text)
        places = byte_places(text)
        found, start = [], 0
        for token_id in token_ids:
            end = start + len(self._tokens[token_id])
            part = places[start:end]
            found.append(Piece(token_id, part[0][0], part[-1][0] + 1, part_label(text, part)))
            start = end
        return tuple(found)

    def label(self, token_id: int) -> str:
        """The token's text, or its bytes as 0xE4·BD where they form no text of their own."""
        if token_id < len(SPECIAL):
            return SPECIAL[token_id]
        token = self._tokens[token_id]
        try:
            return visible(token.decode())
        except UnicodeDecodeError:
            return bytes_label(token)

    def left_out(self, text: str) -> tuple[str, ...]:
        """Always empty: every text can be written in bytes."""
        return ()

    def n_characters(self) -> list[int]:
        """How many characters begin in each token: what a count of characters adds up."""
        return [sum(byte & 0xC0 != 0x80 for byte in token) for token in self._tokens]

    def to_json(self) -> str:
        """The merges as JSON."""
        return json.dumps({"kind": "bpe", "merges": self.merges})

    @cached_property
    def _tokens(self) -> tuple[bytes, ...]:
        """The bytes of each token id; none for the special ones."""
        tokens = [b""] * len(SPECIAL) + [bytes([byte]) for byte in range(256)]
        known, n_bytes = set(tokens), 0
        for left, right in self.merges:
            joined = tokens[left] + tokens[right]
            if joined not in known:
                n_bytes += len(joined)
                if len(joined) > LONGEST_TOKEN or n_bytes > MOST_BYTES:
                    raise ValueError(f"a token of {len(joined):,} bytes, {n_bytes:,} in all")
                known.add(joined)
                tokens.append(joined)
        return tuple(tokens)

    @cached_property
    def _model(self) -> tokenizers.Tokenizer:
        names = ["".join(BYTE_NAMES[byte] for byte in token) for token in self._tokens]
        # No name of a byte is a space, so no text is ever taken for a special token.
        names[: len(SPECIAL)] = [f" {name}" for name in SPECIAL]
        vocabulary = {name: token_id for token_id, name in enumerate(names)}
        merges = [(names[left], names[right]) for left, right in self.merges]
        return _splitting(models.BPE(vocab=vocabulary, merges=merges))


def train_bpe(texts: Iterable[str], *, vocab_size: int) -> BytePairTokenizer:
    """Learn merges from texts until there are `vocab_size` token ids; the same texts, the same."""
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        max_token_length=LONGEST_TOKEN,
        special_tokens=[f" {name}" for name in SPECIAL],
        initial_alphabet=list(BYTE_NAMES),
        show_progress=False,
    )
    model = _splitting(models.BPE())
    model.train_from_iterator((written(text).decode() for text in texts), trainer)
    return BytePairTokenizer(_numbered(json.loads(model.to_str())["model"]["merges"]))


def _numbered(merges: Iterable[tuple[str, str]]) -> tuple[tuple[int, int], ...]:
    """Merges of names as merges of ids."""
    ids = {name: len(SPECIAL) + byte for byte, name in enumerate(BYTE_NAMES)}
    pairs = []
    for left, right in merges:
        pairs.append((ids[left], ids[right]))
        ids.setdefault(left + right, len(ids) + len(SPECIAL))
    return tuple(pairs)


def _splitting(model: models.BPE) -> tokenizers.Tokenizer:
    """The library's tokenizer around a model: cut into pretokens, write each in byte names."""
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(tokenizers.Regex(_PRETOKENS), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    return tokenizer


def _byte_names() -> tuple[str, ...]:
    """GPT-2's printable name for each byte: itself, or the next free one from U+0100 on."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    free = iter(range(0x100, 0x200))
    return tuple(chr(byte if byte in printable else next(free)) for byte in range(256))


BYTE_NAMES = _byte_names()
