"""A grammar that tells stories and reads them: one table, two directions.

A sentence is a template with slots: `{hero:They} had {colour:a} {thing}.` A slot names a variable
and the form in which its word stands here. Telling fills the slots; reading turns the template
round and asks which words could have filled them. "She" leaves every name of a girl; the story
holds together where, sentence after sentence, some word is left for each variable.
"""

import random
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

Word = Mapping[str, str]
"""The forms of one word, the plain one under the empty name."""
Step = tuple[str, ...]
"""Templates of which one is told; an empty one lets the step be left out."""
Facts = Mapping[str, frozenset[int]]
"""For each variable the numbers of the words that it may still be."""

_SENTENCE = re.compile(r"[^.。]*[.。]")
_DISTINCT = ("hero", "friend")


@dataclass(frozen=True, eq=False)
class Grammar:
    """Words by category, the category of each variable, and plots made of steps.

    `separator` stands between two sentences. A story of hero h and thing t is held out where
    (h + t) is divisible by `held_out_every`, so that both sides know every hero and every thing,
    but no pair of them is on both.
    """

    words: Mapping[str, Sequence[Word]]
    categories: Mapping[str, str]
    plots: tuple[tuple[Step, ...], ...]
    separator: str
    held_out_every: int = 8

    def tell(self, source: random.Random, *, held_out: bool) -> str:
        """A story, drawn from `source`."""
        chosen = self._draw(source, held_out)
        steps = [source.choice(step) for step in source.choice(self.plots)]
        return self.separator.join(self._fill(template, chosen) for template in steps if template)

    def read(self, sentence: str) -> list[Facts]:
        """Every way in which the grammar could have made this sentence."""
        readings = (self._reading(template, sentence) for template in self._patterns)
        return [reading for reading in readings if reading is not None]

    def holds_together(self, story: str) -> bool:
        """Whether the story follows a plot, and all its sentences speak of the same things."""
        found = sentences(story)
        if self.separator.join(found) != story:
            return False
        return any(self._follows(plot, found, {}) for plot in self.plots)

    def is_held_out(self, hero: int, thing: int) -> bool:
        """The side of a story, from the numbers of its hero and its thing."""
        return (hero + thing) % self.held_out_every == 0

    def texts(self) -> Iterator[str]:
        """Every form of every word and every template's own words; the whole vocabulary."""
        for words in self.words.values():
            for word in words:
                yield from word.values()
        for template in self._patterns:
            yield from (literal for literal, *_ in string.Formatter().parse(template))

    def _draw(self, source: random.Random, held_out: bool) -> dict[str, int]:
        """The number of a word for each variable, on the side that is asked for."""
        while True:
            chosen = {
                variable: source.randrange(len(self.words[category]))
                for variable, category in self.categories.items()
            }
            is_asked = self.is_held_out(chosen["hero"], chosen["thing"]) == held_out
            if is_asked and chosen["hero"] != chosen["friend"]:
                return chosen

    def _fill(self, template: str, chosen: Mapping[str, int]) -> str:
        parts = []
        for literal, variable, form, _ in string.Formatter().parse(template):
            parts.append(literal)
            if variable:
                parts.append(self._words_of(variable)[chosen[variable]][form or ""])
        return "".join(parts)

    def _words_of(self, variable: str) -> Sequence[Word]:
        return self.words[self.categories[variable]]

    @cached_property
    def _patterns(self) -> Mapping[str, re.Pattern[str]]:
        """Each template as an expression with one group a slot."""
        templates = {template for plot in self.plots for step in plot for template in step}
        return {template: self._pattern(template) for template in sorted(templates - {""})}

    def _pattern(self, template: str) -> re.Pattern[str]:
        parts = []
        for literal, variable, form, _ in string.Formatter().parse(template):
            parts.append(re.escape(literal))
            if variable:
                choices = {re.escape(word[form or ""]) for word in self._words_of(variable)}
                parts.append(f"({'|'.join(sorted(choices, key=len, reverse=True))})")
        return re.compile("".join(parts))

    def _reading(self, template: str, sentence: str) -> Facts | None:
        """What each variable may be if this template made the sentence."""
        match = self._patterns[template].fullmatch(sentence)
        if match is None:
            return None
        slots = [
            (variable, form or "")
            for _, variable, form, _ in string.Formatter().parse(template)
            if variable
        ]
        facts: Facts | None = {}
        for (variable, form), text in zip(slots, match.groups(), strict=True):
            words = enumerate(self._words_of(variable))
            may_be = frozenset(number for number, word in words if word[form] == text)
            facts = None if facts is None else _join(facts, {variable: may_be})
        return facts

    def _follows(self, plot: Sequence[Step], told: Sequence[str], known: Facts) -> bool:
        if not plot:
            return not told
        return any(self._takes(template, plot[1:], told, known) for template in plot[0])

    def _takes(
        self, template: str, rest: Sequence[Step], told: Sequence[str], known: Facts
    ) -> bool:
        """Whether the story goes on with this template, and then along the rest of the plot."""
        if not template:
            return self._follows(rest, told, known)
        reading = self._reading(template, told[0]) if told else None
        joined = None if reading is None else _join(known, reading)
        return joined is not None and self._follows(rest, told[1:], joined)


def sentences(text: str) -> list[str]:
    """The complete sentences of a text, without the white space around them."""
    return [sentence.strip() for sentence in _SENTENCE.findall(text)]


def _join(known: Facts, new: Facts) -> Facts | None:
    """What is left for each variable, or None where nothing is."""
    joined = dict(known)
    for variable, may_be in new.items():
        joined[variable] = joined.get(variable, may_be) & may_be
    people = [joined[variable] for variable in _DISTINCT if variable in joined]
    are_one = len(people) == len(_DISTINCT) and len(frozenset.union(*people)) == 1
    return None if are_one or not all(joined.values()) else joined
