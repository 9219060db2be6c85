"""What the grammar says to a source: the one true translation, where it has one."""

from functools import lru_cache

from blocks.corpora.stories import Language
from blocks.corpora.translation import Pair, held_out_pairs, translations
from pages.ui import tokens

N_DRAWN, N_SHOWN = 60, 12


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


@lru_cache(maxsize=8)
def sentences(vocabulary: str, language: str) -> tuple[str, ...]:
    """Some that were held out from all training, each of its own kind; in this language."""
    reader, found = tokens.tokenizer_of(vocabulary), {}
    for each in held_out_pairs(N_DRAWN):
        words = each.words(Language(language))
        found.setdefault((len(words), words[-1]), words)
    return tuple(reader.decode(reader.ids(words)) for words in found.values())[:N_SHOWN]


def _read(token_ids: tuple[int, ...], vocabulary: str) -> tuple[tuple[str, ...], Language]:
    """The words of a source, and the language of its first."""
    reader = tokens.tokenizer_of(vocabulary)
    words = tuple(reader.vocabulary[token_id] for token_id in token_ids)
    is_english = bool(words) and words[0] in reader.english
    return words, Language.ENGLISH if is_english else Language.CHINESE
