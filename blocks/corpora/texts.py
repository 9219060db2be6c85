"""Texts to learn from: the documentation inside Python, and what a reader brings."""

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from blocks.model.faults import N_, ConfigError, Fault

LEAST_CHARACTERS = 1_000
MOST_CONTROL_SHARE = 1e-3

_UNDERLINE = re.compile(r"^[*=~^\-]{3,}\n", re.MULTILINE)
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f\ufffe\uffff]")
_ENCODINGS_BY_MARK = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
Tokens = TypeVar("Tokens", bound=Sequence[int])


@dataclass(frozen=True)
class Corpus:
    """A text, and what a reader should know about how it was read."""

    text: str
    notes: tuple[Fault, ...] = ()


@cache
def python_documentation() -> str:
    """The language reference that ships inside Python, about 460,000 characters of English.

    Headings lose the rows of signs under them; the text differs a little between versions.
    """
    from pydoc_data.topics import topics  # half a megabyte: only for those who learn from it

    text = "\n".join(topics[name] for name in sorted(topics))
    return re.sub(r"\n{3,}", "\n\n", _UNDERLINE.sub("", text))


def corpus_from_bytes(raw: bytes, *, most_characters: int) -> Corpus:
    """The text of a file: UTF-8, UTF-16 with its mark, or else GB18030 (which covers GBK).

    Raises `ConfigError` where it is no text, or too short to learn from. What is longer than
    `most_characters` is cut, which a note says.
    """
    text, encoding = _read(raw)
    require_length(text)
    notes = [_guessed(encoding)] if encoding == "gb18030" else []
    if len(text) > most_characters:
        notes.append(_cut(most_characters, len(text)))
    return Corpus(text[:most_characters], tuple(notes))


def decoded_text(raw: bytes) -> str:
    """The text of a file of any length, as `corpus_from_bytes` reads it."""
    return _read(raw)[0]


def _read(raw: bytes) -> tuple[str, str]:
    """The text and its encoding. Raises `ConfigError` where it is no text."""
    text, encoding = _decoded(raw)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if len(_CONTROL.findall(text)) > MOST_CONTROL_SHARE * len(text):
        raise _no_text()
    return text, encoding


def require_length(text: str) -> None:
    """Raise `ConfigError` where a text is too short to learn from."""
    n = len(text.strip())
    if n < LEAST_CHARACTERS:
        said = N_("The text has {n} characters, too few to train on: provide at least {least}")
        raise ConfigError([Fault(said, {"n": n, "least": LEAST_CHARACTERS})])


def split(tokens: Tokens, held_out_share: float = 0.1) -> tuple[Tokens, Tokens]:
    """Split a sequence into the part to learn from and its end, which is held out."""
    n_held_out = round(len(tokens) * held_out_share)
    cut = len(tokens) - n_held_out
    return tokens[:cut], tokens[cut:]  # type: ignore[return-value]


def _decoded(raw: bytes) -> tuple[str, str]:
    """The text and its encoding, guessed only where neither a mark nor UTF-8 says it."""
    marked = (encoding for mark, encoding in _ENCODINGS_BY_MARK.items() if raw.startswith(mark))
    for encoding in (next(marked, "utf-8"), "gb18030"):
        try:
            return raw.decode(encoding), encoding
        except UnicodeDecodeError:
            continue
    raise _no_text()


def _no_text() -> ConfigError:
    said = N_("The file is not text: save it as plain text in UTF-8")
    return ConfigError([Fault(said)])


def _guessed(encoding: str) -> Fault:
    text = N_(
        "The text is not UTF-8 and was read as {encoding}: if it looks wrong, save it as UTF-8"
    )
    return Fault(text, {"encoding": encoding.upper()})


def _cut(kept: int, whole: int) -> Fault:
    text = N_("Only the first {kept:,} of {whole:,} characters are used (the limit of this server)")
    return Fault(text, {"kept": kept, "whole": whole})
