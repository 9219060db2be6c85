"""What every tokenizer does: text into token ids and back, each token with its place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

_SIGNS = {
    **{code: chr(0x2400 + code) for code in range(0x20)},  # Unicode's pictures of controls
    **{ord(" "): "␣", ord("\n"): "↵", ord("\t"): "⇥", 0x7F: "␡", 0xFFFD: "U+FFFD"},
}


@dataclass(frozen=True)
class Piece:
    """A token in a text: its id, its characters `start` to `end` (excluded), what is shown."""

    token_id: int
    start: int
    end: int
    label: str


class Tokenizer(Protocol):
    """Text to token ids and back. Frozen and hashable, so that threads can share it."""

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
    return "0x" + raw.hex(" ").upper().replace(" ", "·")
