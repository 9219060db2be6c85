"""One token for each character of an alphabet."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from blocks.text.tokenizer import Piece, visible

LARGEST_ALPHABET = 8192


@dataclass(frozen=True)
class CharacterTokenizer:
    """The id of a character is its place in `characters`; all others are left out."""

    characters: str

    @classmethod
    def of(cls, text: str) -> "CharacterTokenizer":
        """The alphabet of a text, sorted; of a huge one its `LARGEST_ALPHABET` commonest."""
        commonest = Counter(text).most_common(LARGEST_ALPHABET)
        return cls("".join(sorted(character for character, _ in commonest)))

    @property
    def vocab_size(self) -> int:
        """How many characters there are."""
        return len(self.characters)

    @property
    def special(self) -> Mapping[str, int]:
        """None: every token is a character."""
        return {}

    def encode(self, text: str) -> list[int]:
        """The token ids of a text."""
        ids = self._ids
        return [ids[character] for character in text if character in ids]

    def decode(self, token_ids: Sequence[int]) -> str:
        """The characters in a row."""
        return "".join(self.characters[token_id] for token_id in token_ids)

    def pieces(self, text: str) -> tuple[Piece, ...]:
        """The tokens of a text with their places in it."""
        known = ((place, self._ids.get(character)) for place, character in enumerate(text))
        return tuple(
            Piece(token_id, place, place + 1, self.label(token_id))
            for place, token_id in known
            if token_id is not None
        )

    def label(self, token_id: int) -> str:
        """The character, white space made visible."""
        return visible(self.characters[token_id])

    def left_out(self, text: str) -> tuple[str, ...]:
        """The characters outside of the alphabet, each once."""
        return tuple(character for character in dict.fromkeys(text) if character not in self._ids)

    def to_json(self) -> str:
        """The alphabet as JSON."""
        return json.dumps({"kind": "characters", "characters": self.characters})

    @cached_property
    def _ids(self) -> Mapping[str, int]:
        return {character: token_id for token_id, character in enumerate(self.characters)}
