"""Characters and words as tokens, and tokenizers from files."""

import json

import pytest

from blocks.model.faults import ConfigError
from blocks.text.bilingual import SentenceTokenizer
from blocks.text.bpe import N_BASE, SPECIAL
from blocks.text.characters import LARGEST_ALPHABET, CharacterTokenizer
from blocks.text.numbers import NumberTokenizer
from blocks.text.tokenizer import visible
from blocks.text.tokenizers import SHIPPED, shipped_tokenizer, tokenizer_from_json
from blocks.text.vocabulary import WordTokenizer

LETTERS = CharacterTokenizer.of("banana split\n")
WORDS = WordTokenizer.of("the cat sat. 猫")
SENTENCES = SentenceTokenizer(("the", "cat", "sat", "."), ("猫", "坐", "。"))
TOKENIZERS = {
    "characters": LETTERS,
    "words": WORDS,
    "bpe": shipped_tokenizer(),
    "sentences": SENTENCES,
    "numbers": NumberTokenizer(300),
}
FIRST_BYTE = len(SPECIAL)
DOUBLES = [[N_BASE + number] * 2 for number in range(40)]  # 2 ** 41 bytes
LONG = [[50, 51], *([N_BASE + number, 50] for number in range(998))]  # of 1,000 bytes at the end
MANY = [[N_BASE + number, FIRST_BYTE + byte] for number in range(990) for byte in range(60, 110)]

DAMAGED = {
    "not JSON": "{",
    "a list": "[]",
    "deeply nested": "[" * 100_000,
    "no kind": "{}",
    "unknown kind": '{"kind": "pickle"}',
    "kind is no text": '{"kind": ["bpe"]}',
    "no merges": '{"kind": "bpe"}',
    "merges of one": '{"kind": "bpe", "merges": [[5]]}',
    "merges of text": '{"kind": "bpe", "merges": [["a", "b"]]}',
    "merges of truth": '{"kind": "bpe", "merges": [[true, 50]]}',
    "merges a special token": f'{{"kind": "bpe", "merges": [[{FIRST_BYTE - 1}, 50]]}}',
    "merges what comes later": f'{{"kind": "bpe", "merges": [[50, {N_BASE}]]}}',
    "merges the same twice": '{"kind": "bpe", "merges": [[50, 51], [50, 51]]}',
    "merges of a merge too few": json.dumps(
        {"kind": "bpe", "merges": [[50, 51], [50, 51], [N_BASE + 1, 50]]}
    ),
    "merges that double": json.dumps({"kind": "bpe", "merges": [[50, 50], *DOUBLES]}),
    "merges that are many and long": json.dumps({"kind": "bpe", "merges": [*LONG, *MANY]}),
    "half a surrogate pair": '{"kind": "characters", "characters": "\\ud800ab"}',
    "a word with half a pair": '{"kind": "words", "words": ["a", "b\\udc00"]}',
    "a long word": json.dumps({"kind": "words", "words": ["a" * 1001]}),
    "no characters": '{"kind": "characters", "characters": ""}',
    "a character twice": '{"kind": "characters", "characters": "aba"}',
    "characters in a list": '{"kind": "characters", "characters": ["a"]}',
    "no words": '{"kind": "words", "words": []}',
    "a word twice": '{"kind": "words", "words": ["a", "a"]}',
    "an empty word": '{"kind": "words", "words": ["a", ""]}',
    "words of numbers": '{"kind": "words", "words": [1]}',
    "one language": '{"kind": "sentences", "english": ["a"]}',
    "no Chinese": '{"kind": "sentences", "english": ["a"], "chinese": []}',
    "a word of both": '{"kind": "sentences", "english": ["a"], "chinese": ["a"]}',
    "no numbers": '{"kind": "numbers"}',
    "numbers below 1": '{"kind": "numbers", "vocab_size": 0}',
    "a special word": '{"kind": "sentences", "english": ["[PAD]"], "chinese": ["b"]}',
    "a special Chinese word": '{"kind": "sentences", "english": ["a"], "chinese": ["[END]"]}',
}


@pytest.mark.parametrize("tokenizer", TOKENIZERS.values(), ids=TOKENIZERS)
def test_every_id_has_a_label_that_shows(tokenizer):
    labels = [tokenizer.label(token_id) for token_id in range(tokenizer.vocab_size)]
    assert all(label.strip() == label != "" and "\ufffd" not in label for label in labels)
    assert len(set(labels)) > 0.99 * len(labels)


@pytest.mark.parametrize("tokenizer", [LETTERS, WORDS, shipped_tokenizer()], ids=type)
def test_pieces_are_the_encoded_text_in_its_place(tokenizer):
    text = "the cat sat.\n猫 banana"
    pieces = tokenizer.pieces(text)
    assert [piece.token_id for piece in pieces] == tokenizer.encode(text) != []
    assert all(visible(text[piece.start : piece.end]) == piece.label for piece in pieces)


@pytest.mark.parametrize("tokenizer", TOKENIZERS.values(), ids=TOKENIZERS)
def test_a_tokenizer_survives_its_file(tokenizer):
    assert tokenizer_from_json(tokenizer.to_json()) == tokenizer


@pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_is_refused_with_a_sentence(text: str):
    with pytest.raises(ConfigError, match=r": (use one saved here|save it again)"):
        tokenizer_from_json(text)


def test_characters_come_back_and_others_are_reported():
    assert LETTERS.decode(LETTERS.encode("banana\nsplit")) == "banana\nsplit"
    assert LETTERS.decode(LETTERS.encode("a cat!?!")) == "a at"
    assert LETTERS.left_out("a cat!?!") == ("c", "!", "?")
    assert LETTERS.left_out("banana") == ()


def test_the_spans_of_known_characters_skip_the_unknown_ones():
    assert [(piece.start, piece.end) for piece in LETTERS.pieces("xaya")] == [(1, 2), (3, 4)]


def test_an_alphabet_is_bounded_and_keeps_the_commonest():
    rare = "".join(map(chr, range(0x4E00, 0x4E00 + LARGEST_ALPHABET)))
    tokenizer = CharacterTokenizer.of("aa" + rare)
    assert tokenizer.vocab_size == LARGEST_ALPHABET
    assert tokenizer.left_out("a" + rare) == (rare[-1],)


def test_words_are_the_words_of_the_text():
    assert WORDS.vocabulary == (".", "cat", "sat", "the", "猫")
    assert WORDS.decode(WORDS.encode("the  cat,\nthe 猫")) == "the cat the 猫"
    assert WORDS.left_out("a dog, the cat, a dog") == ("a", "dog", ",")


def test_the_place_of_a_word_is_not_that_of_an_earlier_part():
    text = "cats, the cat"
    (the, cat) = WORDS.pieces(text)
    assert text[the.start : the.end] == "the"
    assert cat.start == text.rindex("cat")


@pytest.mark.parametrize(
    ("text", "shown"),
    [(" a", "␣a"), ("\n", "↵"), ("\t", "⇥"), ("\0", "␀"), ("\x7f", "␡"), ("\ufffd", "U+FFFD")],
)
def test_what_draws_nothing_is_made_visible(text: str, shown: str):
    assert visible(text) == shown


def test_the_shipped_file_holds_merges_and_nothing_else():
    assert json.loads(SHIPPED.read_text(encoding="utf-8")).keys() == {"kind", "merges"}


def test_a_word_of_any_length_is_cut():
    """Each letter more once doubled the time: so many would never end."""
    long_word = "supercalifragilisticexpialidocious" * 2
    assert SENTENCES.left_out(long_word) == (long_word,)
    assert SENTENCES.left_out(f"{long_word}n't can't") == (long_word, "n't", "can't")


def test_numbers_are_token_ids_and_all_else_is_left_out():
    reader = NumberTokenizer(40)
    text = " 3 x 39 40 -1 ３ 12345678901234567890 \n7"
    assert reader.encode(text) == [3, 39, 7]
    assert [text[piece.start : piece.end] for piece in reader.pieces(text)] == ["3", "39", "7"]
    assert reader.left_out(text) == ("x", "40", "-1", "３", "12345678901234567890")
    assert reader.encode(reader.decode([3, 39, 7])) == [3, 39, 7]
