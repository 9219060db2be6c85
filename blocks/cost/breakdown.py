"""Where the parameters of a model are: by kind, by part and by layer; nothing is built."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import NamedTuple

from blocks.cost.fitting import can_build
from blocks.cost.parameters import (
    Part,
    active_parameters,
    config_sizes,
    holds,
    parts,
    total_parameters,
)
from blocks.model.config import ModelConfig
from blocks.model.models import count_built

MOST_LAYERS = 160  # of more layers the rest is one piece
MOST_ROWS, MOST_PIECES = 4, 180  # that can be told apart in a picture


class Kind(StrEnum):
    """What a parameter is there for."""

    EMBEDDING = "embedding"
    POSITION = "position"
    ATTENTION = "attention"
    MIXER = "mixer"
    CROSS_ATTENTION = "cross_attention"
    FEED_FORWARD = "feed_forward"
    ROUTER = "router"
    NORM = "norm"
    POOLER = "pooler"
    MTP = "mtp"
    OUTPUT = "output"


OF_NAMES = {
    "position": Kind.POSITION,
    "relative_bias": Kind.POSITION,
    "router": Kind.ROUTER,
    "router_bias": Kind.ROUTER,
    "shared_expert_gate": Kind.ROUTER,
    "unembed": Kind.OUTPUT,
    "unembed_bias": Kind.OUTPUT,
    "prediction_head": Kind.OUTPUT,
    "qk_norm": Kind.NORM,
    "head_norm": Kind.NORM,
    "latent_norms": Kind.NORM,
    "cross_qk_norm": Kind.NORM,
}
OF_SOME_LAYERS = (
    *("n_dense_layers", "n_expert_layers", "n_normed_layers"),
    *("n_attention_layers", "n_mixer_layers"),
)


@dataclass(frozen=True)
class Node:
    """A piece of a model. `name`: a kind, a part, the layers of a stack, or a layer's number.

    `kind` is None where a piece holds several; the counts of its `children` add up to its own.
    """

    name: str
    count: int
    kind: Kind | None = None
    children: tuple["Node", ...] = ()


@dataclass(frozen=True)
class PartCount:
    """A part, what it is there for, and its count with the formula in letters and in numbers."""

    name: str
    kind: Kind
    count: int
    formula: str
    numbers: str


@dataclass(frozen=True)
class CountFacts:
    """Every parameter of a model, part by part, in the order in which a token meets them.

    `active`: those that one token meets; `built`: counted on the modules themselves, None where
    there are too many to be built; `tied_otherwise`: the total if the output matrix were tied, or
    were not; None where there is no vocabulary.
    """

    parts: tuple[PartCount, ...]
    active: int
    built: int | None
    is_tied: bool
    tied_otherwise: int | None

    @property
    def total(self) -> int:
        """The number of all parameters."""
        return sum(part.count for part in self.parts)

    @property
    def kinds(self) -> dict[Kind, int]:
        """Parameters of each kind that there is, in the order of `Kind`."""
        return _summed((part.kind, part.count) for part in self.parts)

    @property
    def largest(self) -> Kind | None:
        """The kind that most of them are of; None where there are none at all."""
        return max(self.kinds, key=self.kinds.__getitem__, default=None)

    @property
    def biases(self) -> int:
        """The number of biases of projections."""
        of_projections = (part for part in self.parts if part.kind is not Kind.POSITION)
        return sum(part.count for part in of_projections if part.name.endswith("bias"))

    @property
    def ends(self) -> int:
        """Token embedding and output matrix."""
        return self.kinds.get(Kind.EMBEDDING, 0) + self.kinds.get(Kind.OUTPUT, 0)

    def share(self, count: int) -> float:
        """Return a count as a share of all; exact division, however large both are."""
        return count / self.total if self.total else 0.0


def count_facts(config: ModelConfig) -> CountFacts:
    """Count a model by formula; where it can be built, count its modules too."""
    sizes = config_sizes(config)
    return CountFacts(
        parts=tuple(
            PartCount(p.name, kind_of(p), p.count(sizes), p.formula(), p.numbers(sizes))
            for p in parts(config)
        ),
        active=active_parameters(config),
        built=count_built(config) if can_build(config) else None,
        is_tied=config.vocabulary.tie_embeddings,
        tied_otherwise=_tied_otherwise(config) if config.architecture.reads_tokens else None,
    )


def _tied_otherwise(config: ModelConfig) -> int:
    return total_parameters(config.replace(tie_embeddings=not config.vocabulary.tie_embeddings))


def kind_of(part: Part) -> Kind:
    """Return the kind of a part of `blocks.cost.parameters`."""
    if part.group == Kind.MTP:
        return Kind.MTP
    return OF_NAMES.get(part.name.rpartition(".")[2]) or Kind(part.group)


def count_kinds(config: ModelConfig) -> dict[Kind, int]:
    """Parameters of each kind that a model has, in the order of `Kind`; the sum is exact."""
    sizes = config_sizes(config)
    return _summed((kind_of(part), part.count(sizes)) for part in parts(config))


def _summed(counted: Iterable[tuple[Kind, int]]) -> dict[Kind, int]:
    counts = dict.fromkeys(Kind, 0)
    for kind, count in counted:
        counts[kind] += count
    return {kind: count for kind, count in counts.items() if count}


def by_kind(config: ModelConfig) -> Node:
    """The model, its kinds, the parts of each."""
    sizes = config_sizes(config)
    leaves = [Node(part.name, part.count(sizes), kind_of(part)) for part in parts(config)]
    return _whole("", _kinds(leaves))


def by_layer(config: ModelConfig) -> Node:
    """The model, what stands before, in and after its layers, each layer, its kinds and parts."""
    sizes = config_sizes(config)
    pieces: list[Node] = []
    for layers, members in groupby(parts(config), lambda part: _stack_of(part.layers)):
        if layers:
            pieces.append(_stack([*members], sizes, layers))
        else:
            pieces += (Node(part.name, part.count(sizes), kind_of(part)) for part in members)
    return _whole("", pieces)


def _stack_of(layers: str) -> str:
    """Return the count of all layers of the stack that some belong to."""
    return "n_layers" if layers in OF_SOME_LAYERS else layers


def _stack(members: Sequence[Part], sizes: dict[str, int], layers: str) -> Node:
    """The layers of one stack; those that have a part have the same number of it."""
    n_layers = sizes[layers]
    shown = n_layers if n_layers <= MOST_LAYERS else MOST_LAYERS - 1
    each = [_layer(members, sizes, i) for i in range(shown)]
    if shown < n_layers:
        rest = sum(part.count(sizes) for part in members) - sum(node.count for node in each)
        each.append(Node(f"{shown + 1}–{n_layers}", rest))
    prefix, dot, _ = members[0].name.rpartition(".")
    return _whole(f"{prefix}{dot}layers", each)


def _layer(members: Sequence[Part], sizes: dict[str, int], i: int) -> Node:
    """One layer, counted from 0."""
    leaves = [
        Node(part.name, part.count(sizes) // sizes[part.layers], kind_of(part))
        for part in members
        if holds(part, sizes, i)
    ]
    return _whole(str(i + 1), _kinds(leaves))


def _kinds(leaves: Iterable[Node]) -> Iterator[Node]:
    """Pieces of one kind together, in the order of `Kind`."""
    found: dict[Kind, list[Node]] = {kind: [] for kind in Kind}
    for leaf in leaves:
        assert leaf.kind is not None
        found[leaf.kind].append(leaf)
    for kind, members in found.items():
        if members:
            yield Node(kind, sum(node.count for node in members), kind, tuple(members))


def _whole(name: str, children: Iterable[Node]) -> Node:
    pieces = tuple(children)
    return Node(name, sum(node.count for node in pieces), None, pieces)


class Piece(NamedTuple):
    """A node in a row: how many parameters stand before it there, and the path that opens it."""

    node: Node
    start: int
    path: str


@dataclass(frozen=True)
class OpenedFacts:
    """The opened part of a model: the nodes along the path, the whole first, and rows of pieces.

    The first of the `rows` is the opened piece itself, each other one the children of the row
    above; there are as many as can be told apart.
    """

    along: tuple[Node, ...]
    rows: tuple[tuple[Piece, ...], ...]

    @property
    def opened(self) -> Node:
        """The piece that fills the width."""
        return self.along[-1]

    @property
    def path(self) -> str:
        """Path of names that leads to it: attention/q_proj; empty for the whole."""
        return self.rows[0][0].path

    @property
    def is_whole(self) -> bool:
        """Whether nothing is opened yet."""
        return len(self.along) == 1

    @property
    def share(self) -> float:
        """Share of the whole that the opened piece holds."""
        return self.opened.count / max(1, self.along[0].count)


def opened_facts(config: ModelConfig, view: str, path: str) -> OpenedFacts:
    """Take a model apart `by_kind` or `by_layer`, opened as far as the path is known."""
    root = by_layer(config) if view == "by_layer" else by_kind(config)
    along = pieces_along(root, path.split("/") if path else [])
    rows: list[tuple[Piece, ...]] = [(Piece(along[-1], 0, path_to(along)),)]
    while len(rows) < MOST_ROWS:
        below = tuple(_below(rows[-1]))
        if not 0 < len(below) <= MOST_PIECES:
            break
        rows.append(below)
    return OpenedFacts(along, tuple(rows))


def pieces_along(root: Node, path: Sequence[str]) -> tuple[Node, ...]:
    """Return the pieces along a path of names, the whole first; it ends where a name is unknown."""
    found = [root]
    for name in path:
        inside = {node.name: node for node in found[-1].children}
        if name not in inside:
            break
        found.append(inside[name])
    return tuple(found)


def path_to(along: Sequence[Node]) -> str:
    """The path that leads from the whole to the last of some nodes."""
    return "/".join(node.name for node in along[1:])


def _below(row: Iterable[Piece]) -> Iterator[Piece]:
    """The children of all pieces of a row, each where its parent is."""
    for node, start, path in row:
        for child in node.children:
            yield Piece(child, start, f"{path}/{child.name}".lstrip("/"))
            start += child.count
