"""A published tokenizer, from its tokenizer.json: used as the file says, nothing added to it."""

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import tokenizers

from blocks.model.faults import N_, ConfigError, Fault
from blocks.text.bounds import LONGEST_TOKEN, is_bounded, normalizing, stays_short, steps_of
from blocks.text.bpe import BYTE_NAMES
from blocks.text.tokenizer import (
    BYTES_SIGN,
    Piece,
    byte_places,
    bytes_label,
    part_label,
    visible,
    written,
)

T = TypeVar("T")
MOST_IDS = 2_000_000
WORD_START = "▁"  # SentencePiece's sign for a space
TARGET_ONLY = "\ufdd2"  # is no character: before a piece that no source is cut into
BYTES = {name: byte for byte, name in enumerate(BYTE_NAMES)}


OPEN, CLOSE = "\ufdd0", "\ufdd1"
"""Around what is only text in a prompt: they are no characters, and mean nothing elsewhere."""


@dataclass(frozen=True, repr=False)
class PublishedTokenizer:
    """Text to token ids and back, as `tokenizers` does it; `text` is the file."""

    text: str

    def __repr__(self) -> str:
        return f"PublishedTokenizer({self.vocab_size:,} tokens, {len(self.special)} special)"

    @property
    def vocab_size(self) -> int:
        """One more than the largest token id."""
        return self._extent[0]

    @cached_property
    def special(self) -> Mapping[str, int]:
        """Tokens that stand for no text, by name."""
        added = self._model.get_added_tokens_decoder()
        return {token.content: number for number, token in added.items() if token.special}

    def encode(self, text: str) -> list[int]:
        """The token ids of a text, with those that the file puts around it."""
        found = self._encoded(text)
        return found.ids if found else []

    def decode(self, token_ids: Sequence[int]) -> str:
        """The text of some token ids; special tokens stand for none."""
        return _or_none(lambda: self._model.decode(list(token_ids))) or ""

    def pieces(self, text: str) -> tuple[Piece, ...]:
        """The tokens of a text with their places; a special one takes no room in it."""
        found = self._encoded(text)
        if found is None:
            return ()
        pieces, at = [], 0
        labels = self._labels_in(text, zip(found.ids, found.offsets, strict=True))
        for number, (start, end), is_special, label in zip(
            found.ids, found.offsets, found.special_tokens_mask, labels, strict=True
        ):
            start, at = (at, at) if is_special else (start, end)
            pieces.append(Piece(number, start, at, label))
        return tuple(pieces)

    def _labels_in(self, text: str, found: Iterable[tuple[int, tuple[int, int]]]) -> Iterator[str]:
        """What to show for tokens at their places: bytes as parts of a character, as é 1/2."""
        places, raw, at = byte_places(text), written(text), 0
        for number, (start, _end) in found:
            label, own = self.label(number), b""
            if label.startswith(BYTES_SIGN):
                at, own = max(at, bisect_left(places, (start,))), self._raw(number)
            is_there = bool(own) and raw[at : at + len(own)] == own and label == bytes_label(own)
            yield part_label(text, places[at : at + len(own)]) if is_there else label
            at += len(own) * is_there

    def control(self, template: str) -> re.Pattern[str]:
        """Finds special tokens in a text, and added ones that a template writes."""
        added = self._model.get_added_tokens_decoder().values()
        found = {each.content for each in added if each.special or each.content in template}
        longest_first = sorted(filter(str.strip, found), key=len, reverse=True)
        return re.compile("|".join(map(re.escape, longest_first)) or "(?!)")

    def prompt_pieces(self, text: str, control: re.Pattern[str]) -> Iterator[Piece]:
        """The tokens of a prompt with their places in it; nothing is put around it.

        A token of `control` between OPEN and CLOSE is only text, as a reader typed it.
        """
        for start, part, is_typed in _parts(text, control):
            found = self._plain(part) if is_typed else self._said(part)
            labels = self._labels_in(part, found)
            for (number, (first, last)), label in zip(found, labels, strict=True):
                yield Piece(number, start + first, start + last, label)

    def _said(self, text: str) -> list[tuple[int, tuple[int, int]]]:
        found = self._encoded(text, is_whole=False)
        return [*zip(found.ids, found.offsets, strict=True)] if found else []

    def _plain(self, token: str) -> list[tuple[int, tuple[int, int]]]:
        """The text of a special token, in ordinary tokens: where it is one again, cut in two."""
        found = self._without_added._said(token)
        if not any(number == self._model.token_to_id(token) for number, _place in found):
            return found
        rest = self._without_added._said(token[1:])
        shifted = [(number, (1 + first, 1 + last)) for number, (first, last) in rest]
        return [*self._without_added._said(token[:1]), *shifted]

    @cached_property
    def _without_added(self) -> "PublishedTokenizer":
        return PublishedTokenizer(
            json.dumps({**json.loads(self._model.to_str()), "added_tokens": []})
        )

    def label(self, token_id: int) -> str:
        """The token's text, or its bytes as 0xE4·BD where they form no text of their own."""
        token = self._model.id_to_token(token_id)
        if token is None:
            return f"#{token_id}"
        if not self._is_of_bytes or token in self.special:
            return visible(token.replace(WORD_START, " ").replace(TARGET_ONLY, ""))
        raw = self._raw(token_id)
        try:
            return visible(raw.decode())
        except UnicodeDecodeError:
            return bytes_label(raw)

    def _raw(self, token_id: int) -> bytes:
        """The bytes of a token; none where its text is not written in the names of bytes."""
        token = self._model.id_to_token(token_id)
        if token is None or not self._is_of_bytes or token in self.special:
            return b""
        return bytes(BYTES[letter] for letter in token if letter in BYTES)

    def left_out(self, text: str) -> tuple[str, ...]:
        """What became the token for the unknown, each once; all of a text that cannot be read."""
        found = self._encoded(text)
        if found is None:
            return (text,)
        unknown = self._model.token_to_id(getattr(self._model.model, "unk_token", None) or "")
        places = (
            place for id, place in zip(found.ids, found.offsets, strict=True) if id == unknown
        )
        return tuple(dict.fromkeys(text[start:end] for start, end in places))

    def to_json(self) -> str:
        """The file, marked as one that was published."""
        return json.dumps({"kind": "published", "tokenizer": self.text})

    def _encoded(self, text: str, *, is_whole: bool = True) -> tokenizers.Encoding | None:
        """None where the library cannot read this text, or would make too much of it.

        `is_whole`: with what the file puts around a text.
        """
        readable = text.encode("utf-8", "replace").decode()
        if not _or_none(lambda: stays_short(readable, self._normalizing)):
            return None
        # A batch, even of one, lets other threads run meanwhile; `encode` does not.
        return _or_none(
            lambda: self._model.encode_batch([readable], add_special_tokens=is_whole)[0]
        )

    @cached_property
    def _model(self) -> tokenizers.Tokenizer:
        model = tokenizers.Tokenizer.from_str(self.text)
        model.no_padding()
        model.no_truncation()
        if getattr(model.model, "dropout", None):
            model.model.dropout = None  # which is for training: a text would be cut at random
        return model

    @cached_property
    def _normalizing(self) -> tuple[tokenizers.normalizers.Normalizer, ...]:
        return normalizing(self._model)

    @cached_property
    def _extent(self) -> tuple[int, int]:
        """How many token ids there are, and the characters of the longest token."""
        found = self._model.get_vocab()
        return 1 + max(found.values(), default=-1), max(map(len, found), default=0)

    @cached_property
    def _is_of_bytes(self) -> bool:
        return any(step["type"] == "ByteLevel" for step in steps_of(self._model.decoder))


def _parts(text: str, control: re.Pattern[str]) -> Iterator[tuple[int, str, bool]]:
    """A prompt in parts: where each begins, and whether it is a token that a reader typed.

    A mark that a template has left alone still parts what stands around it.
    """
    marks, end = re.compile(f"{OPEN}({control.pattern}){CLOSE}|[{OPEN}{CLOSE}]"), 0
    for found in marks.finditer(text):
        yield end, text[end : found.start()], False
        if found[1]:
            yield found.start(1), found[1], True
        end = found.end()
    yield end, text[end:], False


def published_tokenizer(text: str) -> PublishedTokenizer:
    """Open the tokenizer of a tokenizer.json. Raises `ConfigError` where the text is not one."""
    found = PublishedTokenizer(text)
    if not 0 < (_or_none(lambda: found.vocab_size) or 0) <= MOST_IDS:
        raise _refusal(DAMAGED)
    if found._extent[1] > LONGEST_TOKEN or not _or_none(lambda: is_bounded(found._model)):
        raise _refusal(UNBOUNDED)
    tried = found._encoded("a")
    if tried is None or max(tried.ids, default=0) >= found.vocab_size:
        raise _refusal(DAMAGED)
    return found


def _refusal(text: str) -> ConfigError:
    return ConfigError([Fault(text)])


def _or_none(ask: Callable[[], T]) -> T | None:
    """What the library says; None where it fails, or panics, which is past `Exception`."""
    try:
        return ask()
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException:
        return None


DAMAGED = N_("The tokenizer is damaged or of an unsupported kind: download it again")
UNBOUNDED = N_(
    "The tokenizer requires steps that could take a very long time or make a short text very "
    "long, so it is not opened: use the one that was published with the model"
)
