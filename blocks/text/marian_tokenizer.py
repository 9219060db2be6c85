"""The tokenizer of Marian's translators (opus-mt), written as a tokenizer.json.

A SentencePiece model cuts the source into pieces, vocab.json has the token id of each, and of those
of the target, which no source is cut into: a character of the target alone is unknown in a source.
A piece that vocab.json lacks is not used.
"""

import struct
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

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
from blocks.text.json_text import read_json
from blocks.text.published import TARGET_ONLY, WORD_START

END, UNKNOWN, PADDING = "</s>", "<unk>", "<pad>"
NORMAL, USER_DEFINED = 1, 4  # kinds of pieces that stand for text
UNIGRAM = 1  # kind of model


class Source(NamedTuple):
    """What source.spm says: the score of each piece, and how a text is normalized before."""

    scores: Mapping[str, float]
    table: bytes
    has_prefix: bool
    joins_spaces: bool


def tokenizer_json(source: bytes, vocabulary: str) -> str:
    """The text of a tokenizer.json, from source.spm and vocab.json. Raises `ConfigError`."""
    found, ids = _source(source), _ids(vocabulary)
    worst = min(found.scores.values())
    pieces = [
        (piece, found.scores[piece]) if piece in found.scores else (TARGET_ONLY + piece, worst)
        for piece in ids
    ]
    names = {END, UNKNOWN, PADDING, *filter(_is_language, ids)}
    for name in names & ids.keys():
        pieces[ids[name]] = (name, worst)
    whole = Tokenizer(models.Unigram(pieces, ids[UNKNOWN], False))
    whole.normalizer = normalizers.Sequence(_normalizing(found))
    scheme = "always" if found.has_prefix else "never"
    whole.pre_tokenizer = pre_tokenizers.Metaspace(WORD_START, scheme)
    whole.decoder = decoders.Sequence(
        [decoders.Replace(TARGET_ONLY, ""), decoders.Metaspace(WORD_START, scheme)]
    )
    whole.post_processor = processors.TemplateProcessing(
        single=f"$A {END}", special_tokens=[(END, ids[END])]
    )
    for name in sorted(names & ids.keys()):
        whole.add_special_tokens([AddedToken(name, normalized=False)])
    return whole.to_str()


def _is_language(piece: str) -> bool:
    """Whether it names the language to translate into, as >>cmn_Hans<< does."""
    return piece.startswith(">>") and piece.endswith("<<")


def _normalizing(found: Source) -> list[Any]:
    steps: list[Any] = [normalizers.Precompiled(found.table)] if found.table else []
    if found.joins_spaces:
        steps += [normalizers.Strip(), normalizers.Replace(Regex(" {2,}"), " ")]
    return steps


def _ids(vocabulary: str) -> dict[str, int]:
    """The token id of each piece, in their order: 0, 1, 2, … without a gap."""
    try:
        found = read_json(vocabulary)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(type(each) is int for each in found.values()):
        raise _damaged("vocab.json")
    ordered = dict(sorted(found.items(), key=lambda item: item[1]))
    if [*ordered.values()] != [*range(len(ordered))] or not {END, UNKNOWN} <= ordered.keys():
        raise _damaged("vocab.json")
    return ordered


def _source(raw: bytes) -> Source:
    try:
        whole = [*_fields(raw)]
        pieces = [dict(_fields(each)) for number, each in whole if number == 1]
        parts = {number: dict(_fields(each)) for number, each in whole if number in (2, 3)}
        normalizer = parts.get(3, {})
        scores = {
            piece[1].decode(): float(piece.get(2, 0.0))
            for piece in pieces
            if piece.get(3, NORMAL) in (NORMAL, USER_DEFINED)
        }
        has_prefix, joins = (bool(normalizer.get(number, True)) for number in (3, 4))
        kind, table = parts.get(2, {}).get(3, UNIGRAM), bytes(normalizer.get(2, b""))
    except (ValueError, TypeError, KeyError, AttributeError, struct.error):
        raise _damaged("source.spm") from None
    if kind != UNIGRAM or not scores:
        raise _damaged("source.spm")
    return Source(scores, table, has_prefix, joins)


def _fields(raw: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a Protocol Buffers message: number and value. Raises `ValueError`."""
    value: Any
    at = 0
    while at < len(raw):
        key, at = _number(raw, at)
        match key & 7:
            case 0:
                value, at = _number(raw, at)
            case 1:
                (value,), at = struct.unpack_from("<d", raw, at), at + 8
            case 2:
                length, at = _number(raw, at)
                value, at = raw[at : at + length], at + length
            case 5:
                (value,), at = struct.unpack_from("<f", raw, at), at + 4
            case _:
                raise ValueError
        if at > len(raw):
            raise ValueError
        yield key >> 3, value


def _number(raw: bytes, at: int) -> tuple[int, int]:
    """A number in groups of 7 bits, the smallest first, and where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(raw):
            break
        value |= (raw[at] & 127) << shift
        at += 1
        if raw[at - 1] < 128:
            return value, at
    raise ValueError


def _damaged(name: str) -> ConfigError:
    text = N_("{name} is damaged or of an unsupported kind: download it again")
    return ConfigError([Fault(text, {"name": name})])
