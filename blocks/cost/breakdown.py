"""Where the parameters of a model are: by kind, by part and by layer; nothing is built."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from blocks.cost.parameters import Part, config_sizes, parts
from blocks.model.config import ModelConfig

MOST_LAYERS = 160  # of more layers the rest is one piece


class Kind(StrEnum):
    """What a parameter is there for."""

    EMBEDDING = "embedding"
    POSITION = "position"
    ATTENTION = "attention"
    CROSS_ATTENTION = "cross_attention"
    FEED_FORWARD = "feed_forward"
    ROUTER = "router"
    NORM = "norm"
    POOLER = "pooler"
    OUTPUT = "output"


OF_NAMES = {
    "position": Kind.POSITION,
    "relative_bias": Kind.POSITION,
    "router": Kind.ROUTER,
    "unembed": Kind.OUTPUT,
    "unembed_bias": Kind.OUTPUT,
    "prediction_head": Kind.OUTPUT,
    "qk_norm": Kind.NORM,
    "cross_qk_norm": Kind.NORM,
}


@dataclass(frozen=True)
class Node:
    """A piece of a model. `name`: a kind, a part, the layers of a stack, or a layer's number.

    `kind` is None where a piece holds several; the counts of its `children` add up to its own.
    """

    name: str
    count: int
    kind: Kind | None = None
    children: tuple["Node", ...] = ()


def kind_of(part: Part) -> Kind:
    """What a part of `blocks.cost.parameters` is there for."""
    return OF_NAMES.get(part.name.rpartition(".")[2]) or Kind(part.group)


def count_kinds(config: ModelConfig) -> dict[Kind, int]:
    """Parameters of each kind that a model has, in the order of `Kind`; the sum is exact."""
    sizes = config_sizes(config)
    counts = dict.fromkeys(Kind, 0)
    for part in parts(config):
        counts[kind_of(part)] += part.count(sizes)
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
    for layers, members in groupby(parts(config), lambda part: part.layers):
        if layers:
            pieces.append(_stack([*members], sizes, layers))
        else:
            pieces += (Node(part.name, part.count(sizes), kind_of(part)) for part in members)
    return _whole("", pieces)


def _stack(members: Sequence[Part], sizes: dict[str, int], layers: str) -> Node:
    """The layers of one stack: every one holds as much as the others."""
    n_layers = sizes[layers]
    leaves = [Node(p.name, p.count(sizes) // n_layers, kind_of(p)) for p in members]
    layer = _whole("1", _kinds(leaves))
    shown = n_layers if n_layers <= MOST_LAYERS else MOST_LAYERS - 1
    each = [Node(str(i + 1), layer.count, None, layer.children) for i in range(shown)]
    if shown < n_layers:
        rest = (n_layers - shown) * layer.count
        each.append(Node(f"{shown + 1}–{n_layers}", rest))
    prefix, dot, _ = members[0].name.rpartition(".")
    return _whole(f"{prefix}{dot}layers", each)


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


def opened(root: Node, path: Sequence[str]) -> tuple[Node, ...]:
    """The pieces along a path of names, the whole first; it ends where a name is unknown."""
    found = [root]
    for name in path:
        inside = {node.name: node for node in found[-1].children}
        if name not in inside:
            break
        found.append(inside[name])
    return tuple(found)
