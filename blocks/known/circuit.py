"""What is left of a model that was trained to be sparse, weight by weight: a graph to be read."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from blocks.known.bracket_texts import CHARACTERS, CLOSING, Texts, held_out, opened
from blocks.known.sparse import CONFIG, Circuit, Weight, measured, model_of, right_by_kind
from blocks.model.positions import alibi_slopes

N_MEASURED = 256  # texts on which a circuit is measured anew


class Column(StrEnum):
    """Where a node stands, from left to right as data flow."""

    TOKEN = "token"
    BEFORE = "resid_pre"
    QUERY = "q"
    KEY = "k"
    VALUE = "v"
    AFTER = "resid_post"
    LOGIT = "logit"


HEAD_COLUMNS = (Column.QUERY, Column.KEY, Column.VALUE)


class Node(NamedTuple):
    """A token, a number of the stream, a number of a head's q, k or v, or a logit."""

    column: Column
    place: int

    @property
    def head(self) -> int:
        """The head whose q, k or v it is part of."""
        return self.place // CONFIG.d_head


ENDS = {  # matrix: from where, to where, whether its rows are where it starts
    "embed.weight": (Column.TOKEN, Column.BEFORE, True),
    "layers.0.attention.q_proj.weight": (Column.BEFORE, Column.QUERY, False),
    "layers.0.attention.k_proj.weight": (Column.BEFORE, Column.KEY, False),
    "layers.0.attention.v_proj.weight": (Column.BEFORE, Column.VALUE, False),
    "layers.0.attention.out_proj.weight": (Column.VALUE, Column.AFTER, False),
    "unembed.weight": (Column.AFTER, Column.LOGIT, False),
}


class Edge(NamedTuple):
    """One weight that is left, from a node to a node."""

    start: Node
    end: Node
    weight: float


def edge_of(weight: Weight) -> Edge:
    """The edge that a weight is."""
    start, end, is_from_row = ENDS[weight.matrix]
    row, column = weight.row, weight.column
    ends = (row, column) if is_from_row else (column, row)
    return Edge(Node(start, ends[0]), Node(end, ends[1]), weight.value)


@dataclass(frozen=True, eq=False)
class Pass:
    """One text through the edges alone, in float64.

    `inside`: column, then what each of its nodes is at each token, (seq, size of the column);
    `pattern`: (n_heads, query, key).
    """

    inside: dict[Column, np.ndarray]
    pattern: np.ndarray

    @property
    def logits(self) -> np.ndarray:
        """The score of each character at each token: (seq, vocabulary)."""
        return self.inside[Column.LOGIT]


SIZES = {
    Column.TOKEN: CONFIG.vocab_size,
    **dict.fromkeys((Column.BEFORE, Column.AFTER), CONFIG.d_model),
    **dict.fromkeys(HEAD_COLUMNS, CONFIG.n_heads * CONFIG.d_head),
    Column.LOGIT: CONFIG.vocab_size,
}


def through_edges(edges: Sequence[Edge], token_ids: Sequence[int]) -> Pass:
    """What the model says, computed edge by edge: a sum over weights, and softmax in each head."""
    found = {column: np.zeros((len(token_ids), size)) for column, size in SIZES.items()}
    found[Column.TOKEN][np.arange(len(token_ids)), [*token_ids]] = 1
    for column in (Column.BEFORE, Column.QUERY, Column.KEY, Column.VALUE):
        follow(edges, found, column)
    q, k, v = (_heads(found[each]) for each in (Column.QUERY, Column.KEY, Column.VALUE))
    pattern = _attend(q, k)
    found[Column.VALUE] = (pattern @ v).swapaxes(0, 1).reshape(len(token_ids), -1)
    found[Column.AFTER] += found[Column.BEFORE]
    follow(edges, found, Column.AFTER)
    follow(edges, found, Column.LOGIT)
    return Pass(found, pattern)


def follow(edges: Sequence[Edge], found: dict[Column, np.ndarray], column: Column) -> None:
    """Add to the nodes of a column what its edges bring: (rows, size of the column)."""
    for start, end, weight in edges:
        if end.column is column:
            found[column][:, end.place] += weight * found[start.column][:, start.place]


def _heads(units: np.ndarray) -> np.ndarray:
    """(seq, n_heads · d_head) to (n_heads, seq, d_head)."""
    return units.reshape(len(units), CONFIG.n_heads, CONFIG.d_head).swapaxes(0, 1)


def _attend(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """softmax(q·k/√d_head − slope · distance) over the tokens so far: (n_heads, query, key)."""
    places = np.arange(q.shape[1])
    distance = places[:, None] - places
    slopes = np.array(alibi_slopes(CONFIG.n_heads))[:, None, None]
    scores = q @ k.swapaxes(1, 2) / np.sqrt(CONFIG.d_head) - slopes * distance
    scores = np.where(distance >= 0, scores, -np.inf)
    grown = np.exp(scores - scores.max(-1, keepdims=True))
    found: np.ndarray = grown / grown.sum(-1, keepdims=True)
    return found


class Ablated(NamedTuple):
    """What is left of a circuit without some edges, on texts never learned."""

    loss: float
    accuracy: float


@lru_cache(maxsize=256)
def ablated(circuit: Circuit, without: frozenset[int]) -> Ablated:
    """Measure the circuit anew without these edges, counted from 0."""
    return Ablated(*measured(*_without(circuit, without)))


@lru_cache(maxsize=32)
def _by_kind(circuit: Circuit, without: frozenset[int]) -> dict[str, float]:
    return right_by_kind(*_without(circuit, without))


def _without(circuit: Circuit, without: frozenset[int]) -> tuple[nn.Module, Texts]:
    left = [weight for i, weight in enumerate(circuit.kept) if i not in without]
    return model_of(left), held_out(circuit.seed).rows(torch.arange(N_MEASURED))


@dataclass(frozen=True, eq=False)
class CircuitFacts:
    """A circuit, the edges that the reader took out, and one text at one of its tokens."""

    circuit: Circuit
    without: frozenset[int]
    token_ids: tuple[int, ...]
    token: int
    whole: Ablated
    now: Ablated
    alone: tuple[Ablated, ...]  # without each edge alone
    key: int | None = None  # the token that is followed
    chosen_head: int | None = None

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """All of them, those without which the loss is highest first."""
        return tuple(map(edge_of, self.circuit.kept))

    @cached_property
    def passed(self) -> Pass:
        """The text through the edges that are left."""
        return through_edges(self.left, self.token_ids)

    @property
    def left(self) -> list[Edge]:
        """The edges that are not taken out."""
        return [edge for i, edge in enumerate(self.edges) if i not in self.without]

    @property
    def n_edges(self) -> int:
        """How many are drawn."""
        return len(self.edges)

    @property
    def n_trained(self) -> int:
        """Weights that were left before pruning."""
        return len(self.circuit.trained)

    @property
    def tokens(self) -> tuple[str, ...]:
        """The text."""
        return tuple(CHARACTERS[each] for each in self.token_ids)

    @property
    def said(self) -> str:
        """The character that scores highest at the token that is looked at."""
        return CHARACTERS[int(self.passed.logits[self.token].argmax())]

    @property
    def right(self) -> str | None:
        """The bracket that closes next there; None where no bracket is open."""
        place = opened(self.token_ids[: self.token + 1])
        return None if place is None else CLOSING[self.token_ids[place]]

    @property
    def heads(self) -> list[int]:
        """The heads that edges lead through, the one with most of them first."""
        found = [edge.end.head for edge in self.edges if edge.end.column in HEAD_COLUMNS]
        return sorted({*found}, key=lambda head: (-found.count(head), head))

    @property
    def head(self) -> int:
        """The head whose attention is drawn: the one that is chosen, if edges lead through it."""
        return next((each for each in self.heads if each == self.chosen_head), self.heads[0])

    def flow(self, edge: Edge) -> float:
        """What flows along an edge into the token that is looked at.

        Weight times what its start is: of k and v the mean over the tokens, weighted by attention;
        at the embedding the sum over all tokens so far.
        """
        inside, start, token = self.passed.inside, edge.start, self.token
        values = inside[start.column][:, start.place]
        if edge.end.column in (Column.KEY, Column.VALUE):
            return edge.weight * float(self.passed.pattern[edge.end.head, token] @ values)
        if start.column is Column.TOKEN:
            return edge.weight * float(values[: token + 1].sum())
        return edge.weight * float(values[token])

    @property
    def by_kind(self) -> dict[str, float]:
        """The share of answers that are right without the edges taken out, by closing bracket."""
        return _by_kind(self.circuit, self.without)


def circuit_facts(
    circuit: Circuit,
    without: frozenset[int],
    text: str,
    token: int,
    key: int | None = None,
    head: int | None = None,
) -> CircuitFacts:
    """All that is shown of a circuit; `token` and `key`, which is followed, are counted from 0."""
    ids = tuple(map(CHARACTERS.index, text))
    ordered, alone = _by_loss(circuit)
    return CircuitFacts(
        circuit=ordered,
        without=without,
        token_ids=ids,
        token=min(token, len(ids) - 1),
        whole=ablated(ordered, frozenset()),
        now=ablated(ordered, without),
        alone=alone,
        key=key,
        chosen_head=head,
    )


@lru_cache(maxsize=16)
def _by_loss(circuit: Circuit) -> tuple[Circuit, tuple[Ablated, ...]]:
    """The circuit with the edges that matter most first, and what it can without each."""
    alone = [ablated(circuit, frozenset({i})) for i in range(len(circuit.kept))]
    order = sorted(range(len(alone)), key=lambda i: -alone[i].loss)
    kept = tuple(circuit.kept[i] for i in order)
    return replace(circuit, kept=kept), tuple(alone[i] for i in order)
