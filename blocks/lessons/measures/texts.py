"""What stands in a text."""

from blocks.lessons.place import Place
from blocks.text.words import words


def n_tokens(at: Place) -> int:
    """How many tokens the model reads."""
    return len(at.run.input.labels) - at.run.input.n_padding


def n_words(at: Place) -> int:
    """How many words a reader sees (of Chinese, characters)."""
    return words(at.text, at_most=len(at.text))[1]


def n_characters(at: Place) -> int:
    """How many characters the text has."""
    return len(at.text)


def tokens_per_character(at: Place) -> float:
    """How many tokens a character takes, on average."""
    return n_tokens(at) / max(1, len(at.text))


def vocab_size(at: Place) -> int:
    """How many tokens the model knows."""
    return at.config.vocab_size


def token_id(at: Place, *, token: int) -> int:
    """The row of the embedding that a token takes."""
    return at.run.input.token_ids[token]


def target_word(at: Place, *, position: int = 1) -> str:
    """What a decoder has read at a position of its target, 0 the start token; else nothing."""
    labels = at.run.target_or_start.labels
    return labels[position] if position < len(labels) else ""
