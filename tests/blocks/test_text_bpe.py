"""Byte-pair encoding: lossless on any text, readable in every piece."""

import re
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blocks.corpora.stories import Language, stories
from blocks.model.model_input import PADDING
from blocks.text.bpe import END, MASK, N_BASE, SPECIAL, BytePairTokenizer, train_bpe
from blocks.text.tokenizers import shipped_tokenizer

SHIPPED = shipped_tokenizer()
N_CHARACTERS = 100_000
TEXTS = st.lists(
    st.characters(exclude_categories=())
    | st.sampled_from(["the fox", " 你好", "👨‍👩‍👧", "\n\n", SPECIAL[2]]),
    max_size=20,
).map("".join)


def without_lone_surrogates(text: str) -> str:
    return re.sub("[\ud800-\udfff]", "?", text)


@settings(max_examples=300)
@given(TEXTS)
def test_whatever_the_text_it_comes_back(text: str):
    assert SHIPPED.decode(SHIPPED.encode(text)) == without_lone_surrogates(text)


@settings(max_examples=300)
@given(TEXTS)
def test_whatever_the_text_pieces_cover_it_and_show_it(text: str):
    pieces = SHIPPED.pieces(text)
    assert [piece.token_id for piece in pieces] == SHIPPED.encode(text)
    assert min(piece.token_id for piece in pieces) >= len(SPECIAL) if pieces else not text
    assert {place for p in pieces for place in range(p.start, p.end)} == set(range(len(text)))
    assert not any("\ufffd" in piece.label or piece.label == " " for piece in pieces)
    assert [p.start for p in pieces] == sorted(p.start for p in pieces)


def test_the_vocabulary_is_as_long_as_promised_and_starts_with_the_special_tokens():
    assert SHIPPED.vocab_size == 1024 == N_BASE + len(SHIPPED.merges)
    assert SHIPPED.special == {PADDING: 0, MASK: 1, END: 2}
    assert [SHIPPED.label(token_id) for token_id in range(3)] == [PADDING, MASK, END]
    assert SHIPPED.decode([0, 1, 2]) == ""


def test_parts_of_a_character_say_which_part_and_leading_spaces_show():
    tokenizer = BytePairTokenizer(())
    assert [piece.label for piece in tokenizer.pieces(" 你")] == ["␣", "你 1/3", "你 2/3", "你 3/3"]
    assert [piece.label for piece in SHIPPED.pieces("a fox")] == ["a", "␣fox"]
    first, second, _ = (len(SPECIAL) + byte for byte in "你".encode())
    joined = BytePairTokenizer(((first, second),))
    assert [piece.label for piece in joined.pieces("你")] == ["你 1–2/3", "你 3/3"]
    assert joined.label(N_BASE) == "0xE4·BD"
    assert joined.decode([N_BASE]) == r"\xe4\xbd"


def test_no_token_crosses_a_word_a_digit_or_a_chinese_character():
    texts = (SHIPPED.decode([token_id]) for token_id in range(N_BASE, SHIPPED.vocab_size))
    for text in (text for text in texts if "\\x" not in text):
        assert re.fullmatch(
            r" ?[^\W\d_]+|[一-鿿]| ?\d| ?[^\w\s]+|_+| ?[^\s\w]*_+[^\s\w]*|\s+", text
        )
        assert not re.search("[一-鿿].|.[一-鿿]", text)


def test_training_joins_the_commonest_pair_first():
    tokenizer = train_bpe(["ababab cd"], vocab_size=N_BASE + 2)
    a, b = (len(SPECIAL) + byte for byte in b"ab")
    pairs = Counter(pairwise("ababab"))
    assert (
        tokenizer.merges[0]
        == (a, b)
        == tuple(len(SPECIAL) + ord(letter) for letter in pairs.most_common(1)[0][0])
    )
    assert tokenizer.merges[1] == (N_BASE, N_BASE)
    assert tokenizer.encode("abab") == [N_BASE + 1]


def test_training_again_gives_the_same():
    texts = stories(Language.ENGLISH, 100) + stories(Language.CHINESE, 100)
    assert train_bpe(texts, vocab_size=400) == train_bpe(texts, vocab_size=400)


def test_merging_one_after_the_other_gives_the_same_ids():
    """The definition, written out: within a word, join the pair that was merged earliest."""
    word = " everywhere"
    rank = {pair: number for number, pair in enumerate(SHIPPED.merges)}
    ids = [len(SPECIAL) + byte for byte in word.encode()]
    while pairs := [pair for pair in pairwise(ids) if pair in rank]:
        best = min(pairs, key=rank.__getitem__)
        place = list(pairwise(ids)).index(best)
        ids[place : place + 2] = [N_BASE + rank[best]]
    assert SHIPPED.encode(word) == ids


@pytest.mark.parametrize("piece", ["word ", "a", " ", "猫", "😀", ".", "\u0301", "\n", "\ud800"])
def test_a_long_text_is_encoded(piece: str):
    text = (piece * N_CHARACTERS)[:N_CHARACTERS]
    assert len(SHIPPED.decode(SHIPPED.encode(text))) == N_CHARACTERS


def test_characters_are_counted_by_the_token_in_which_they_begin():
    text = "The fox, 你饕餮 é😀"
    counts = SHIPPED.n_characters()
    assert sum(counts[token_id] for token_id in SHIPPED.encode(text)) == len(text)
