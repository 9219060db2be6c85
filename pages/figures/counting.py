"""How the screen counts."""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import SupportsInt

from blocks.model.model_input import PADDING
from pages.figures.theme import SPACE, Translate, word_of

LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def from_one(index: SupportsInt) -> int:
    """The number that a reader sees for an index: on the screen everything counts from 1."""
    return int(index) + 1


def head_called(layer: SupportsInt, head: SupportsInt, _: Translate) -> str:
    return _("layer {layer}, head {head}").format(layer=from_one(layer), head=from_one(head))


def told_apart(tokens: Sequence[str]) -> tuple[str, ...]:
    """The tokens with a small number at each that stands there more than once: the₁ and the₂."""
    return _numbered(tuple(tokens))


def read_apart(tokens: Sequence[str]) -> tuple[str, ...]:
    """The same as words are read: the sign for a space stays where it alone tells two apart."""
    stands_alone = {token for token in tokens if not token.startswith(SPACE)}
    return told_apart([t if word_of(t) in stands_alone else word_of(t) for t in tokens])


@lru_cache(maxsize=64)
def _numbered(tokens: tuple[str, ...]) -> tuple[str, ...]:
    n, seen = Counter(tokens), Counter[str]()
    found = []
    for token in tokens:
        seen[token] += 1
        is_one = n[token] == 1 or token == PADDING
        found.append(token if is_one else token + str(seen[token]).translate(LOWERED))
    return tuple(found)
