"""The entropy of a story: what nobody can tell beforehand who knows the grammar by heart.

A story is a plot, for each of its steps a template, and a word for each variable that these
templates name. Each choice is even, and a story tells all of them, so that its entropy is the sum
of theirs (Shannon 1948, section 6): exact.
"""

import string
from collections.abc import Iterator
from functools import lru_cache
from math import log, prod

from blocks.corpora.grammar import Grammar, Step
from blocks.corpora.stories import Language
from blocks.training.next_token import N_HELD_OUT_STORIES, story_windows

BOUND = ("hero", "friend", "thing")  # not drawn apart: see `Grammar.is_held_out`


def named(template: str) -> frozenset[str]:
    """The variables of which a template tells a word."""
    return frozenset(name for _text, name, *_form in string.Formatter().parse(template) if name)


def story_entropy(grammar: Grammar) -> float:
    """In nats a story, of those that are learned from."""
    heroes, things = (len(grammar.words[grammar.categories[each]]) for each in ("hero", "thing"))
    pairs = sum(not grammar.is_held_out(h, t) for h in range(heroes) for t in range(things))
    bound = log(pairs * (heroes - 1))  # the friend is somebody else
    plots = [bound + sum(_choices(grammar, plot)) for plot in grammar.plots]
    return log(len(plots)) + sum(plots) / len(plots)


def _choices(grammar: Grammar, plot: tuple[Step, ...]) -> Iterator[float]:
    """Nats of each template, and of each word that is drawn by itself, as often as it is told."""
    yield from (log(len(step)) for step in plot)
    for name in grammar.categories.keys() - set(BOUND):
        untold = prod(sum(name not in named(each) for each in step) / len(step) for step in plot)
        yield (1 - untold) * log(len(grammar.words[grammar.categories[name]]))


@lru_cache
def story_rate(language: Language) -> float:
    """Nats a token of whole stories that follow each other, as Training cuts them into tokens."""
    n_tokens = len(story_windows(language, held_out=True).token_ids) / N_HELD_OUT_STORIES
    each = [story_entropy(grammar) for grammar in language.grammars]
    return sum(each) / len(each) / n_tokens
