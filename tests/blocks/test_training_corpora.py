"""Texts from Python itself and from readers, in the encodings that readers have."""

import codecs
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from blocks.corpora.texts import (
    LEAST_CHARACTERS,
    corpus_from_bytes,
    python_documentation,
    require_length,
    split,
)
from blocks.model.faults import ConfigError

MOST = 1_000_000
CHINESE = "从前有一只小狐狸，它很想要一只红色的风筝。\n" * 60
ENGLISH = "Once there was a little fox; it wished for a kite – a red one.\n" * 30
ENCODED = {
    "UTF-8": (CHINESE, CHINESE.encode()),
    "UTF-8 with a mark": (CHINESE, codecs.BOM_UTF8 + CHINESE.encode()),
    "UTF-16, little end first": (CHINESE, codecs.BOM_UTF16_LE + CHINESE.encode("utf-16-le")),
    "UTF-16, big end first": (ENGLISH, codecs.BOM_UTF16_BE + ENGLISH.encode("utf-16-be")),
    "Windows line ends": (ENGLISH, ENGLISH.replace("\n", "\r\n").encode()),
    "old Macintosh line ends": (ENGLISH, ENGLISH.replace("\n", "\r").encode()),
}
NO_TEXT = {
    "zeros": bytes(5_000),
    "every byte": bytes(range(256)) * 50,
    "a picture": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)) * 20,
    "half a mark": codecs.BOM_UTF16_LE + b"a\xd8" * 2_000 + b"a",
    "broken in every encoding": ENGLISH.encode() + b"\xff\xff",
}


@pytest.mark.parametrize(("text", "raw"), ENCODED.values(), ids=ENCODED)
def test_a_text_is_read_whatever_its_encoding(text: str, raw: bytes):
    corpus = corpus_from_bytes(raw, most_characters=MOST)
    assert corpus.text == text
    assert corpus.notes == ()


def test_a_guessed_encoding_is_said():
    corpus = corpus_from_bytes(CHINESE.encode("gbk"), most_characters=MOST)
    assert corpus.text == CHINESE
    assert [str(note).count("GB18030") for note in corpus.notes] == [1]


@pytest.mark.parametrize("raw", NO_TEXT.values(), ids=NO_TEXT)
def test_what_is_no_text_is_refused(raw: bytes):
    with pytest.raises(ConfigError, match="not text: save"):
        corpus_from_bytes(raw, most_characters=MOST)


MARKS = [b"", codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE]


@settings(max_examples=100)
@given(
    st.sampled_from(MARKS),
    st.sampled_from([ENGLISH.encode(), CHINESE.encode(), CHINESE.encode("gb18030")]),
    st.binary(max_size=40) | st.text(max_size=20).map(lambda text: text.encode("utf-16-le")),
    st.integers(0, 1500),
)
def test_any_bytes_are_a_text_or_refused(mark: bytes, whole: bytes, odd: bytes, place: int):
    try:
        corpus = corpus_from_bytes(mark + whole[:place] + odd + whole[place:], most_characters=900)
    except ConfigError as error:
        assert str(error)
    else:
        assert 0 < len(corpus.text) <= 900
        assert corpus.text.encode()


@pytest.mark.parametrize("raw", [b"", b"short", b" \n" * LEAST_CHARACTERS])
def test_too_little_is_refused_with_what_would_do(raw: bytes):
    with pytest.raises(ConfigError, match=f"provide at least {LEAST_CHARACTERS}"):
        corpus_from_bytes(raw, most_characters=MOST)


def test_a_long_text_is_cut_and_the_cut_is_said():
    corpus = corpus_from_bytes(CHINESE.encode(), most_characters=1_200)
    assert corpus.text == CHINESE[:1_200]
    (note,) = corpus.notes
    assert "1,200" in str(note) and f"{len(CHINESE):,}" in str(note)


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030"])
def test_of_many_megabytes_what_may_be_taken_is_taken(encoding: str):
    raw = CHINESE.encode(encoding)
    raw *= 5_000_000 // len(raw)
    corpus = corpus_from_bytes(raw, most_characters=MOST)
    assert len(corpus.text) == MOST


def test_the_documentation_is_long_clean_and_read_only_when_asked_for():
    text = python_documentation()
    require_length(text)
    assert len(text) > 300_000
    assert "pydoc_data.topics" in sys.modules
    assert "***" not in "".join(line for line in text.splitlines() if not line.strip("*"))
    assert "\n\n\n" not in text
    assert "if_stmt" in text


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_the_end_is_held_out(share: float):
    tokens = torch.arange(100)
    learned, unseen = split(tokens, share)
    assert len(unseen) == 100 * share
    assert torch.equal(torch.cat([learned, unseen]), tokens)
    assert split(tokens.tolist(), share)[1] == unseen.tolist()
