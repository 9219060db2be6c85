"""One token followed through a circuit: what it adds to each node and logit, and its ways there.

With the attention weights held as they are, everything in a circuit is a sum over tokens and over
paths, as there is neither a norm nor a bias: so what the tokens add sums to the logits.
"""

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

import numpy as np

from blocks.known.bracket_texts import CHARACTERS
from blocks.known.circuit import SIZES, CircuitFacts, Column, Node, follow


class Way(NamedTuple):
    """A path from a token to a logit: its edges, counted from 0, and the head that reads it.

    `head` and `attention` are None and 1 where it goes past attention.
    """

    edges: tuple[int, ...]
    head: int | None
    attention: float
    product: float


class Followed(NamedTuple):
    """A token of the text, what it adds to each node at the token looked at, and its ways."""

    key: int
    added: dict[Column, np.ndarray]
    ways: tuple[Way, ...]  # to the logit of the answer, the largest product first
    logit: float  # of the answer, from all tokens

    @property
    def rest(self) -> float:
        """What all other tokens add to it."""
        return self.logit - self.sum

    @property
    def sum(self) -> float:
        """What it adds to the logit of the answer."""
        return sum(way.product for way in self.ways)

    @property
    def last_steps(self) -> dict[int, float]:
        """What it adds to the logit by each edge that enters it, the largest first."""
        found: dict[int, float] = {}
        for way in self.ways:
            found[way.edges[-1]] = found.get(way.edges[-1], 0.0) + way.product
        return dict(sorted(found.items(), key=lambda step: -abs(step[1])))

    @property
    def edges(self) -> frozenset[int]:
        """All edges on its ways to the answer."""
        return frozenset(edge for way in self.ways for edge in way.edges)


def contributions(facts: CircuitFacts) -> np.ndarray:
    """What each token so far adds to each logit: (token + 1, vocabulary), summing to the logits."""
    found = [added(facts, key)[Column.LOGIT] for key in range(facts.token + 1)]
    return np.stack(found)


def added(facts: CircuitFacts, key: int) -> dict[Column, np.ndarray]:
    """What the token at `key` adds to each node at the token looked at, attention as it is."""
    found = {column: np.zeros((1, size)) for column, size in SIZES.items()}
    found[Column.TOKEN][0, facts.token_ids[key]] = 1
    for column in (Column.BEFORE, Column.VALUE):
        follow(facts.left, found, column)
    d_head = SIZES[Column.VALUE] // len(facts.passed.pattern)
    found[Column.VALUE] *= np.repeat(facts.passed.pattern[:, facts.token, key], d_head)
    if key == facts.token:
        found[Column.AFTER] += found[Column.BEFORE]
    for column in (Column.AFTER, Column.LOGIT):
        follow(facts.left, found, column)
    return {column: values[0] for column, values in found.items()}


def followed(facts: CircuitFacts) -> Followed | None:
    """All ways of the token that is followed to the logit of the answer; None where none is."""
    if (key := facts.key) is None:
        return None
    start = Node(Column.TOKEN, facts.token_ids[key])
    goal = Node(Column.LOGIT, CHARACTERS.index(facts.said))
    paths = _paths(facts, start, goal, is_own=key == facts.token)
    ways = [_way(facts, key, path) for path in paths]
    ways.sort(key=lambda way: -abs(way.product))
    logit = float(facts.passed.logits[facts.token, goal.place])
    return Followed(key, added(facts, key), tuple(ways), logit)


def _paths(
    facts: CircuitFacts, start: Node, goal: Node, *, is_own: bool
) -> Iterator[tuple[int, ...]]:
    """The edges of each path; only at its own token does one go past attention."""
    if start == goal:
        yield ()
    nodes = {start}
    if is_own and start.column is Column.BEFORE:
        nodes.add(Node(Column.AFTER, start.place))
    for i, edge in enumerate(facts.edges):
        is_left = i not in facts.without and edge.end.column not in (Column.QUERY, Column.KEY)
        if is_left and edge.start in nodes:
            yield from ((i, *rest) for rest in _paths(facts, edge.end, goal, is_own=is_own))


def _way(facts: CircuitFacts, key: int, path: tuple[int, ...]) -> Way:
    edges = [facts.edges[i] for i in path]
    head = next((each.end.head for each in edges if each.end.column is Column.VALUE), None)
    attention = 1.0 if head is None else float(facts.passed.pattern[head, facts.token, key])
    return Way(path, head, attention, attention * prod(each.weight for each in edges))
