"""The words of the field, a plain sentence for each, and which of them a text uses."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

import streamlit as st

from blocks.model.shipped import shipped
from pages.words.language import _, current_language

GLOSSARY = shipped("glossary")
# What is no prose: code, formulas, and all from the second heading on (formula and sources).
NO_PROSE = re.compile(r"`[^`]*`|\$\$.*?\$\$|\$[^$]*\$", re.DOTALL)
HEADING = "\n#### "


class Word(NamedTuple):
    """A word, its sentence, and the pattern that finds it in a text."""

    word: str
    says: str
    found_by: re.Pattern[str]


@lru_cache(maxsize=4)
def glossary(language: str) -> Mapping[str, Word]:
    """All words in a language, each by its name, which is the same in every language."""
    table = tomllib.loads((GLOSSARY / f"{language}.toml").read_text(encoding="utf-8"))
    return {
        name: _word(row["word"], row["says"], row.get("found_by")) for name, row in table.items()
    }


def _word(word: str, says: str, found_by: Iterable[str] | None) -> Word:
    """English words stand alone, in one or several; Chinese ones have no gaps between them."""
    forms = (found_by or (word, f"{word}s")) if word.isascii() else (found_by or (word,))
    longest_first = sorted(map(_alone, forms), key=len, reverse=True)
    return Word(word, says, re.compile("|".join(longest_first), re.IGNORECASE))


def _alone(form: str) -> str:
    pattern = re.escape(form)
    return rf"(?<![A-Za-z_]){pattern}(?![A-Za-z_])" if form.isascii() else pattern


def prose(text: str) -> str:
    """What is read of an explanation before its formula, without code."""
    return NO_PROSE.sub(" ", HEADING.join(text.split(HEADING)[:2]))


@lru_cache(maxsize=256)
def used_in(texts: tuple[str, ...], language: str) -> tuple[Word, ...]:
    """The words that texts use, in the order in which they first stand there.

    Within a longer word a shorter one does not count: a weight norm is no norm.
    """
    text = "\n".join(map(prose, texts))
    words = glossary(language).values()
    hits = [(hit.span(), word) for word in words for hit in word.found_by.finditer(text)]
    used: dict[Word, None] = {}
    last = (0, 0)
    for span, word in sorted(hits, key=lambda each: (each[0][0], -each[0][1], -len(each[1].word))):
        if span[1] > last[1] or span == last:
            used[word], last = None, span
    return tuple(used)


def offer(*texts: str, key: str) -> None:
    """The words that texts use, a tap away, each with its sentence."""
    if words := used_in(texts, current_language()):
        _show(_("Words"), words, key=key)


def offer_all(*, key: str) -> None:
    """All of them, and a line in which to look for one."""
    with st.popover(_("Glossary"), type="tertiary", key=key):
        st.fragment(_looked_up)(f"{key}_search")


def _looked_up(key: str) -> None:
    asked = st.text_input(_("Search the glossary"), type="search", live=True, key=key)
    words = sorted(glossary(current_language()).values(), key=lambda each: each.word.lower())
    found = [each for each in words if is_about(each, asked or "")]
    st.markdown(_listed(found) or _("No glossary entry matches."))


def is_about(word: Word, asked: str) -> bool:
    """Whether a word, or what it says, has what was typed, or one of its forms was typed."""
    is_said = asked.strip().lower() in f"{word.word} {word.says}".lower()
    return is_said or word.found_by.search(asked) is not None


def _show(label: str, words: Iterable[Word], *, key: str) -> None:
    st.popover(label, type="tertiary", key=key).markdown(_listed(words))


def _listed(words: Iterable[Word]) -> str:
    return "\n".join(f"- {in_bold(word)}" for word in words)


def in_bold(word: Word) -> str:
    return re.sub(f"({re.escape(word.word)})", r"**\1**", word.says, count=1, flags=re.IGNORECASE)
