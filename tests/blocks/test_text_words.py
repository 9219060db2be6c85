"""Text as readers write it, and text as nobody would."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blocks.text.words import words

FAMILY, ASTRONAUT = "👨‍👩‍👧‍👦", "👩🏽‍🚀"
FLAG_FRANCE, FLAG_PERU = "🇫🇷", "🇵🇪"
PERSIAN_I_WANT = "می‌خواهم"  # with a zero-width non-joiner
HINDI, ARABIC, HEBREW = "नमस्ते", "السَّلَامُ", "שָׁלוֹם"
N_CHARACTERS = 100_000

CASES = {
    "empty": ("", []),
    "spaces": (" \t\n\u00a0\u3000 ", []),
    "one token": ("word", ["word"]),
    "sentence": ("The cat sat.", ["The", "cat", "sat", "."]),
    "apostrophe": ("don't", ["don't"]),
    "curly apostrophe": ("don’t", ["don’t"]),
    "hyphen": ("well-known", ["well-known"]),
    "underscore": ("d_model", ["d_model"]),
    "punctuation": ("Hi, you... (yes)!?", ["Hi", ",", "you", *"...(", "yes", *")!?"]),
    "quoted word": ("'yes'", ["'", "yes", "'"]),
    "Chinese": ("我爱你。", ["我", "爱", "你", "。"]),
    "Japanese": ("ネコは", ["ネ", "コ", "は"]),
    "Korean": ("안녕 세상", ["안녕", "세상"]),
    "Chinese after spaces": ("I 爱 you", ["I", "爱", "you"]),
    "Chinese after a word": ("GPT模型很好", ["GPT", "模", "型", "很", "好"]),
    "Chinese after a number": ("有3个", ["有", "3", "个"]),
    "Chinese before a word": ("用Python写", ["用", "Python", "写"]),
    "rare Chinese": ("𠮷野", ["𠮷", "野"]),
    "emoji": ("Hi😀!", ["Hi", "😀", "!"]),
    "two emoji": ("😀😀", ["😀", "😀"]),
    "family": (FAMILY, [FAMILY]),
    "astronaut": (f"an {ASTRONAUT}.", ["an", ASTRONAUT, "."]),
    "skin tone": ("👍🏽👍", ["👍🏽", "👍"]),
    "red heart": ("❤️", ["❤️"]),
    "keycap": ("1️⃣", ["1️⃣"]),
    "flags": (FLAG_FRANCE + FLAG_PERU, [FLAG_FRANCE, FLAG_PERU]),
    "emoji of 2022": ("\U0001fae8", ["\U0001fae8"]),
    "combining mark": ("e\u0301te\u0301", ["e\u0301te\u0301"]),
    "mark on punctuation": ("!\u0301?", ["!\u0301", "?"]),
    "Hindi": (HINDI, [HINDI]),
    "Arabic": (f"{ARABIC} {ARABIC}", [ARABIC, ARABIC]),
    "Hebrew": (HEBREW, [HEBREW]),
    "right-to-left mark": ("a\u200f b", ["a", "b"]),
    "NUL": ("a\0b", ["a", "b"]),
    "HTML": ("<b>hi</b>", ["<", "b", ">", "hi", "<", "/", "b", ">"]),
    "lone surrogate": ("a\ud800b", ["a", "b"]),
    "number": ("3.5%", ["3", ".", "5", "%"]),
}
LONG_TEXTS = {
    "words": "word ",
    "one word": "a",
    "spaces": " ",
    "Chinese": "猫",
    "punctuation": ".",
    "emoji": "😀",
    "families": FAMILY,
    "marks": "\u0301",
    "joiners": "\u200d",
    "flags": FLAG_FRANCE,
    "NUL": "\0",
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_a_text_is_cut_into_tokens(text: str, expected: list[str]):
    assert words(text, at_most=100) == (tuple(expected), len(expected))


def test_a_persian_word_has_no_invisible_token():
    tokens, _ = words(PERSIAN_I_WANT, at_most=100)
    assert tokens in ((PERSIAN_I_WANT,), tuple(PERSIAN_I_WANT.split("\u200c")))


@pytest.mark.parametrize("at_most", [0, 1, 3, 4, 5])
def test_the_count_is_right_when_the_text_is_cut(at_most: int):
    text = "one two, three"
    tokens, count = words(text, at_most=at_most)
    assert tokens == ("one", "two", ",", "three")[:at_most]
    assert count == 4


@pytest.mark.parametrize("piece", LONG_TEXTS.values(), ids=LONG_TEXTS)
def test_a_long_word_is_cut(piece: str):
    tokens, count = words((piece * N_CHARACTERS)[:N_CHARACTERS], at_most=10)
    assert len(tokens) == min(count, 10)


def test_a_long_text_is_cut():
    text = "".join(text for text, _ in CASES.values()) * N_CHARACTERS
    tokens, count = words(text[:N_CHARACTERS], at_most=10)
    assert len(tokens) == 10 < count


@settings(max_examples=200)
@given(
    st.lists(
        st.characters(exclude_categories=()) | st.sampled_from("".join(LONG_TEXTS.values())),
        max_size=20,
    ).map("".join)
)
def test_whatever_the_text_tokens_are_pieces_of_it_that_one_can_see(text: str):
    tokens, count = words(text, at_most=100)
    assert count == len(tokens)
    rest = text
    for token in tokens:
        assert token in rest
        rest = rest[rest.index(token) + len(token) :]
        assert not any(character.isspace() for character in token)
        assert any(unicodedata.category(character) != "Cf" for character in token)
