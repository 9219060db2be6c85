"""What each number of a circuit's stream stands for: what moves it, and what it moves."""

from typing import NamedTuple

import numpy as np

from blocks.known.bracket_texts import CHARACTERS
from blocks.known.circuit import SIZES, CircuitFacts, Column, Edge, follow


class Part(NamedTuple):
    """A number of the stream after attention: which tokens move it, which logits it moves."""

    dimension: int
    raised_by: str
    lowered_by: str
    raises: str
    lowers: str


def parts(facts: CircuitFacts) -> list[Part]:
    """One for each number of the stream after attention that a logit reads."""
    moved = _alone(facts.left)
    read = np.zeros((SIZES[Column.AFTER], SIZES[Column.LOGIT]))
    for start, end, weight in facts.left:
        if end.column is Column.LOGIT:
            read[start.place, end.place] = weight
    return [
        Part(index, *_signs(moved[:, index]), *_signs(row))
        for index, row in enumerate(read)
        if row.any()
    ]


def _alone(edges: list[Edge]) -> np.ndarray:
    """What each token adds to the stream where its heads read it alone: (vocabulary, d_model)."""
    n = SIZES[Column.TOKEN]
    found = {column: np.zeros((n, size)) for column, size in SIZES.items()}
    found[Column.TOKEN] = np.eye(n)
    for column in (Column.BEFORE, Column.VALUE, Column.AFTER):
        follow(edges, found, column)
    return found[Column.AFTER]


def _signs(values: np.ndarray) -> tuple[str, str]:
    """The characters of those above 0 and below, leaving out what is next to nothing."""
    least = 0.05 * np.abs(values).max()
    above, below = (values > least, values < -least)
    return tuple(  # type: ignore[return-value]
        " ".join(CHARACTERS[i] for i in np.flatnonzero(each)) for each in (above, below)
    )
