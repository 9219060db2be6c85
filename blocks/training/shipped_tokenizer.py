"""Train the tokenizer that ships with Blockscope: `python -m blocks.training.shipped_tokenizer`."""

from collections.abc import Iterator

from blocks.corpora.stories import TONGUES, Language, stories
from blocks.corpora.texts import python_documentation
from blocks.model.shipped import shipped
from blocks.text.bpe import BytePairTokenizer, train_bpe
from blocks.text.tokenizers import SHIPPED

VOCAB_SIZE = 1024
N_STORIES = 2_000
N_REPEATS = 800
EXPLANATIONS = shipped("text")


def train_shipped() -> BytePairTokenizer:
    """Train the tokenizer; identical under the same version of Python."""
    return train_bpe(_texts(), vocab_size=VOCAB_SIZE)


def _texts() -> Iterator[str]:
    """Stories, explanations, documentation; words of stories often, to become one token each."""
    yield python_documentation()
    for path in sorted(EXPLANATIONS.glob("*/*.md")):
        yield path.read_text(encoding="utf-8")
    for language in TONGUES:
        yield from stories(language, N_STORIES)
        yield from _words(language) * N_REPEATS


def _words(language: Language) -> list[str]:
    """What the stories are made of, as it stands in the middle of a text."""
    (grammar,) = language.grammars
    separator = grammar.separator
    texts = {text.strip() for text in grammar.texts()}
    return [separator + text for text in sorted(texts) if any(map(str.isalpha, text))]


if __name__ == "__main__":
    SHIPPED.write_text(train_shipped().to_json() + "\n", encoding="utf-8")
