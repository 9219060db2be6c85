"""Small stories, told and read by a grammar of our own.

Everything that one sentence fixes, the next ones keep: the name and its pronoun, the thing and its
colour, in Chinese the thing and its measure word. A model that writes them well has learned to
look back.
"""

import random
from collections.abc import Iterable
from enum import StrEnum

from blocks.corpora.grammar import Grammar, sentences
from blocks.corpora.stories_en import ENGLISH
from blocks.corpora.stories_zh import CHINESE


class Language(StrEnum):
    """The language of the stories; of both, every other one is in Chinese."""

    ENGLISH = "en"
    CHINESE = "zh"
    BOTH = "both"

    @property
    def grammars(self) -> tuple[Grammar, ...]:
        """What tells and reads stories in this language."""
        return GRAMMARS[self]

    def grammar_of(self, index: int) -> Grammar:
        """What tells the story of this number."""
        return self.grammars[index % len(self.grammars)]


TONGUES = (Language.ENGLISH, Language.CHINESE)
GRAMMARS = {
    Language.ENGLISH: (ENGLISH,),
    Language.CHINESE: (CHINESE,),
    Language.BOTH: (ENGLISH, CHINESE),
}


def story(language: Language, *, seed: int = 0, index: int = 0, held_out: bool = False) -> str:
    """A story of 5 to 7 sentences, always the same for the same seed and index.

    In a held-out story hero and thing are a pair that no other story has.
    """
    source = random.Random(f"story {language} {seed} {index} {held_out}")
    return language.grammar_of(index).tell(source, held_out=held_out)


def stories(language: Language, n: int, *, seed: int = 0, held_out: bool = False) -> list[str]:
    """The first `n` stories under one seed."""
    return [story(language, seed=seed, index=index, held_out=held_out) for index in range(n)]


def is_grammatical(sentence: str, language: Language) -> bool:
    """Whether the grammar reads this sentence, agreement within the sentence included."""
    return any(grammar.read(sentence) for grammar in language.grammars)


def is_coherent(text: str, language: Language) -> bool:
    """Whether a story follows a plot and its sentences agree with each other."""
    return any(grammar.holds_together(text) for grammar in language.grammars)


def grammatical_share(texts: Iterable[str], language: Language) -> float:
    """Share of the complete sentences of some texts that are grammatical; 0 of none is 0."""
    found = [sentence for text in texts for sentence in sentences(text)]
    return sum(is_grammatical(sentence, language) for sentence in found) / max(len(found), 1)
