"""The tokenizer that ships, and the training that made it: stories in whole words."""

import re

import pytest
from daily import some_daily

from blocks.corpora.stories import TONGUES, Language, stories
from blocks.corpora.texts import python_documentation
from blocks.text.bpe import BytePairTokenizer
from blocks.text.tokenizers import shipped_tokenizer
from blocks.training.shipped_tokenizer import VOCAB_SIZE, train_shipped


@pytest.fixture(scope="module")
def trained() -> BytePairTokenizer:
    return train_shipped()


@pytest.fixture(scope="module", params=some_daily(["shipped", "trained"], daily=["shipped"]))
def tokenizer(request: pytest.FixtureRequest) -> BytePairTokenizer:
    is_shipped = request.param == "shipped"
    return shipped_tokenizer() if is_shipped else request.getfixturevalue("trained")


def test_the_vocabulary_is_as_long_as_promised(tokenizer: BytePairTokenizer):
    assert tokenizer.vocab_size == VOCAB_SIZE == 1024


@pytest.mark.parametrize("language", TONGUES)
def test_every_word_of_the_stories_is_one_token(tokenizer: BytePairTokenizer, language: Language):
    separator = language.grammars[0].separator
    told = separator + separator.join(stories(language, 2_000))
    pattern = r" ?\w+|[^\w\s]" if language is Language.ENGLISH else "."
    found = set(re.findall(pattern, told))
    assert len(found) > 150
    assert [text for text in found if len(tokenizer.encode(text)) > 1] == []


def test_other_english_is_shorter_in_tokens_than_in_characters(tokenizer: BytePairTokenizer):
    text = python_documentation()
    assert len(tokenizer.encode(text)) < 0.6 * len(text)


@pytest.mark.exhaustive
def test_training_again_changes_nothing(trained: BytePairTokenizer):
    assert train_shipped() == trained
