"""What every tokenizer does: text into token ids and back, each token with its place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

_SIGNS = {
    **{code: chr(0x2400 + code) for code in range(0x20)},  # Unicode's pictures of controls
    **dict.fromkeys((0x20, 0xA0, 0x3000), "␣"),  # a space, one that keeps a line, a wide one
    **{ord("\n"): "↵", ord("\t"): "⇥", 0x7F: "␡", 0xFFFD: "U+FFFD"},
}
BYTES_SIGN = "0x"


@dataclass(frozen=True)
class Piece:
    """A token in a text: its id, its characters `start` to `end` (excluded), what is shown."""

    token_id: int
    start: int
    end: int
    label: str


class Tokenizer(Protocol):
    """Text to token ids and back. Frozen and hashable, so that threads can share it."""

    def __hash__(self) -> int:
        """Of its values: what is counted about a tokenizer is kept by it."""

    @property
    def vocab_size(self) -> int:
        """How many token ids there are: 0 to vocab_size − 1."""

    @property
    def special(self) -> Mapping[str, int]:
        """Tokens that stand for no text, by name."""

    def encode(self, text: str) -> list[int]:
        """The token ids of a text."""

    def decode(self, token_ids: Sequence[int]) -> str:
        """The text of some token ids; special tokens stand for none."""

    def pieces(self, text: str) -> tuple[Piece, ...]:
        """The tokens of a text with their places in it."""

    def label(self, token_id: int) -> str:
        """What to show for a token; white space is made visible."""

    def left_out(self, text: str) -> tuple[str, ...]:
        """What in the text has no token and is left out, each once."""

    def to_json(self) -> str:
        """The tokenizer as text; `tokenizer_from_json` reads it."""


def visible(text: str) -> str:
    """The text with a sign for each space, line end, tab and control character."""
    return text.translate(_SIGNS)


def bytes_label(raw: bytes) -> str:
    """Bytes that form no text of their own, marked as such, as 0xE4·BD."""
    return BYTES_SIGN + raw.hex(" ").upper().replace(" ", "·")


def written(text: str) -> bytes:
    """A text in UTF-8; what cannot be written, as ?."""
    return text.encode("utf-8", "replace")


def byte_places(text: str) -> list[tuple[int, int, int]]:
    """For each byte of a text: its character, its number within it, and how many there are."""
    lengths = (len(written(character)) for character in text)
    return [(place, number, n) for place, n in enumerate(lengths) for number in range(1, n + 1)]


def part_label(text: str, part: Sequence[tuple[int, int, int]]) -> str:
    """What to show for some bytes of a text: whole characters, and parts like 你 1–2/3."""
    labels = []
    for place, group in groupby(part, key=lambda byte: byte[0]):
        numbers = [(number, n) for _, number, n in group]
        (first, n), (last, _) = numbers[0], numbers[-1]
        shown = visible(written(text[place]).decode())
        which = str(first) if first == last else f"{first}–{last}"
        labels.append(shown if len(numbers) == n else f"{shown} {which}/{n}")
    return "".join(labels)
