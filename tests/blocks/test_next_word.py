"""One more word: whole, whatever tokens it takes."""

from types import SimpleNamespace

import pytest

from blocks.text.bpe import train_bpe
from blocks.text.next_word import MOST_TOKENS, next_word

READER = train_bpe(["ab cd"], vocab_size=260)


class Foretold:
    """A text that grows as it was written down."""

    def __init__(self, text: str):
        self.ids = READER.encode(text)
        self.new_tokens: list = []

    def advance(self, n_tokens: int) -> None:
        more = self.ids[len(self.new_tokens) : n_tokens]
        self.new_tokens += [SimpleNamespace(token_id=token_id) for token_id in more]


@pytest.mark.parametrize(
    ("follows", "word"),
    [
        (" owl sat", " owl"),
        ("ing.", "ing"),
        (". She", "."),
        ("最喜欢", "最"),
        ("🙂 and", "🙂"),
        (" a" * 9, " a"),
    ],
)
def test_a_word_ends_where_another_begins(follows: str, word: str):
    assert next_word(Foretold(follows), READER) == word


def test_a_word_without_end_is_cut():
    assert next_word(Foretold("x" * 40), READER) == "x" * MOST_TOKENS


def test_a_word_that_is_begun_is_finished():
    begun = READER.encode(" ow")
    assert next_word(Foretold("l sat"), READER, begun) == " owl"


def test_bytes_that_never_become_a_character_are_left_out():
    broken = Foretold("")
    broken.ids = [READER.encode("🙂")[0]] * 20
    assert next_word(broken, READER) == ""
