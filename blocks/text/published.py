"""A published tokenizer, from its tokenizer.json: used as the file says, nothing added to it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import tokenizers

from blocks.model.faults import N_, ConfigError, Fault
from blocks.text.bpe import BYTE_NAMES
from blocks.text.tokenizer import Piece, visible

MOST_IDS = 2_000_000
WORD_START = "▁"  # SentencePiece's sign for a space
BYTES = {name: byte for byte, name in enumerate(BYTE_NAMES)}


@dataclass(frozen=True)
class PublishedTokenizer:
    """Text to token ids and back, as `tokenizers` does it; `text` is the file."""

    text: str

    @property
    def vocab_size(self) -> int:
        """One more than the largest token id."""
        return self._n_ids

    @property
    def special(self) -> Mapping[str, int]:
        """Tokens that stand for no text, by name."""
        added = self._model.get_added_tokens_decoder()
        return {token.content: number for number, token in added.items() if token.special}

    def encode(self, text: str) -> list[int]:
        """The token ids of a text, with those that the file puts around it."""
        return self._encoded(text).ids

    def decode(self, token_ids: Sequence[int]) -> str:
        """The text of some token ids; special tokens stand for none."""
        return self._model.decode(list(token_ids))

    def pieces(self, text: str) -> tuple[Piece, ...]:
        """The tokens of a text with their places; a special one takes no room in it."""
        found = self._encoded(text)
        pieces, at = [], 0
        for number, (start, end), is_special in zip(
            found.ids, found.offsets, found.special_tokens_mask, strict=True
        ):
            start, at = (at, at) if is_special else (start, end)
            pieces.append(Piece(number, start, at, self.label(number)))
        return tuple(pieces)

    def label(self, token_id: int) -> str:
        """The token's text, or its bytes as E4·BD where they form no text of their own."""
        token = self._model.id_to_token(token_id)
        if token is None:
            return f"#{token_id}"
        if not self._is_of_bytes or token in self.special:
            return visible(token.replace(WORD_START, " "))
        raw = bytes(BYTES[letter] for letter in token if letter in BYTES)
        try:
            return visible(raw.decode())
        except UnicodeDecodeError:
            return raw.hex(" ").upper().replace(" ", "·")

    def left_out(self, text: str) -> tuple[str, ...]:
        """What in the text became the token for the unknown, each once."""
        unknown = self._model.token_to_id(getattr(self._model.model, "unk_token", None) or "")
        if unknown is None:
            return ()
        places = ((piece.start, piece.end) for piece in self.pieces(text))
        found = zip(self.encode(text), places, strict=True)
        return tuple(dict.fromkeys(text[a:b] for number, (a, b) in found if number == unknown))

    def to_json(self) -> str:
        """The file, marked as one that was published."""
        return json.dumps({"kind": "published", "tokenizer": self.text})

    def _encoded(self, text: str) -> tokenizers.Encoding:
        return self._model.encode(text.encode("utf-8", "replace").decode())

    @cached_property
    def _model(self) -> tokenizers.Tokenizer:
        model = tokenizers.Tokenizer.from_str(self.text)
        model.no_padding()
        model.no_truncation()
        return model

    @cached_property
    def _n_ids(self) -> int:
        return 1 + max(self._model.get_vocab().values(), default=-1)

    @cached_property
    def _is_of_bytes(self) -> bool:
        return "ByteLevel" in json.dumps(json.loads(self.text).get("decoder"))


def published_tokenizer(text: str) -> PublishedTokenizer:
    """Open the tokenizer of a tokenizer.json. Raises `ConfigError` where the text is not one."""
    found = PublishedTokenizer(text)
    try:
        if 0 < found.vocab_size <= MOST_IDS:
            found.pieces("a")
            return found
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException:  # the library panics, past Exception, where a file is odd enough
        pass
    said = N_("tokenizer.json is damaged or of an unsupported kind: download it again")
    raise ConfigError([Fault(said)]) from None
