"""What the grammar says to a source: the one true translation, where it has one."""

from functools import lru_cache

from blocks.training.stories import Language
from blocks.training.translation import Pair, translations
from pages.ui import tokens


@lru_cache(maxsize=64)
def pair(token_ids: tuple[int, ...], vocabulary: str) -> Pair | None:
    """The source of these tokens with its translation, or None where the grammar has none."""
    words, language = _read(token_ids, vocabulary)
    found = translations(words, language)
    return found[0] if found else None


def translation(token_ids: tuple[int, ...], vocabulary: str) -> tuple[str, ...] | None:
    """The words of the other language."""
    found = pair(token_ids, vocabulary)
    if found is None:
        return None
    _words, language = _read(token_ids, vocabulary)
    is_english = language is Language.ENGLISH
    return found.words(Language.CHINESE if is_english else Language.ENGLISH)


def _read(token_ids: tuple[int, ...], vocabulary: str) -> tuple[tuple[str, ...], Language]:
    """The words of a source, and the language of its first."""
    reader = tokens.tokenizer_of(vocabulary)
    words = tuple(reader.vocabulary[token_id] for token_id in token_ids)
    is_english = bool(words) and words[0] in reader.english
    return words, Language.ENGLISH if is_english else Language.CHINESE
