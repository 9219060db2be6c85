"""What flows where in one pass of a model: every move, in the order in which it is computed.

A move makes one matrix of others: the norm of a stream, the queries of a head, the sum of stream
and sub-layer. It has the name of the probe that sees what it makes, and names those that it reads.
The moves of a layer are its `wiring`; of a layer that is opened, all inside its parts as well.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum

from blocks.model.config import ModelConfig
from blocks.model.kinds import Architecture, NormKind, NormPlacement, TokenMixer
from blocks.observe.wiring import PartKind, Step, wiring

ENTRY = ("input", "resid_pre")
CROSS = "cross_"


class MoveKind(StrEnum):
    """What a move does with what it reads."""

    EMBED = "embed"
    POSITION = "position"
    NORM = "norm"
    PROJECT = "project"  # to queries, keys or values of every head
    SCORES = "scores"
    MASK = "mask"
    SOFTMAX = "softmax"
    MIX = "mix"  # the values, by their weights
    JOIN = "join"  # the heads, through the output projection
    ATTEND = "attend"  # all of attention, in a layer that is not opened
    CARRY = "carry"  # a state from token to token, in place of attention
    ROUTE = "route"  # how much a router wants each expert
    SEND = "send"  # tokens to the experts that are chosen
    COMPRESS = "compress"  # to a latent, of which keys and values are made
    STATE = "state"  # what was read so far, in place of keys and values
    GATE = "gate"  # how much of a state stays, or is written
    WIDEN = "widen"
    NARROW = "narrow"
    FEED = "feed"  # all of the feed-forward layer, in a layer that is not opened
    ADD = "add"
    LOGITS = "logits"
    CHOOSE = "choose"  # probabilities of what comes next


@dataclass(frozen=True)
class Move:
    """One move: the path of what it makes, its place, and the paths of what it reads.

    `stage` is the last word of the path; `part` the wiring's; `layer` None before and after all
    layers; `stack` the half of an encoder–decoder.
    """

    path: str
    stage: str
    kind: MoveKind
    part: PartKind
    reads: tuple[str, ...]
    layer: int | None = None
    stack: str = ""

    @property
    def is_stream(self) -> bool:
        """Whether it makes the stream itself, and not what is read from it or added to it."""
        is_sum = self.stage.endswith("_sum") or self.stage.startswith("resid_")
        return is_sum or self.kind in (MoveKind.EMBED, MoveKind.POSITION)


def layer_path(layer: int, stack: str = "") -> str:
    """How the paths of a layer begin, with the dot."""
    return f"{stack}.layers.{layer}." if stack else f"layers.{layer}."


def moves(config: ModelConfig, opened: Collection[str]) -> tuple[Move, ...]:
    """All moves of a pass; `opened`: the layers whose inside is told, by how their paths begin."""
    return tuple(_Moves(config, opened).all())


def stacks(config: ModelConfig) -> dict[str, int]:
    """How many layers each stack has; a model of one stack has no name for it."""
    if config.architecture is Architecture.ENCODER_DECODER:
        return {"encoder": config.n_layers, "decoder": config.n_decoder_layers}
    return {"": config.n_layers}


class _Moves:
    """Follows the stream through the model; `stream` is the path of what it is at the moment."""

    def __init__(self, config: ModelConfig, opened: Collection[str]):
        self.config, self.opened = config, opened
        self.stream = self.memory = ""

    def all(self) -> Iterator[Move]:
        for stack, n_layers in stacks(self.config).items():
            yield from self.entry(stack)
            for layer in range(n_layers):
                yield from self.of_layer(layer, stack)
            yield from self.final_norm(stack)
            if stack == "encoder":
                self.memory = self.stream
        if self.config.architecture.reads_tokens:
            yield from self.ends()

    def entry(self, stack: str) -> Iterator[Move]:
        """From tokens to the stream that the first layer reads."""
        config, is_block = self.config, not self.config.architecture.reads_tokens
        is_added = config.position.position_kind.is_added
        half = f"{stack}." if stack else ""
        first = "input" if is_block else f"{half}embedding"
        start = layer_path(0, stack) + "resid_pre"
        has_norm = config.norm.embedding_norm and config.norm.norm_kind is not NormKind.NONE
        if is_block and not is_added:
            first = start
        self.stream = first
        yield Move(first, _word(first), MoveKind.EMBED, PartKind.EMBEDDING, (), None, stack)
        if is_added or (has_norm and not is_block):
            kind = MoveKind.POSITION if is_added else MoveKind.NORM
            yield Move(start, "resid_pre", kind, PartKind.POSITION, (first,), None, stack)
            self.stream = start

    def of_layer(self, layer: int, stack: str) -> Iterator[Move]:
        """The steps of the wiring that make something new, and what is inside of them."""
        start, entering = layer_path(layer, stack), self.stream
        for step in wiring(self.config, layer, stack=stack):
            if step.stage in ENTRY:
                continue
            reads = tuple(entering if r == "resid_pre" else start + r for r in step.reads)
            inside = tuple(self.inside(step, reads, layer, stack))
            yield from inside
            kind = self.kind(step, layer, is_opened=bool(inside))
            last = (inside[-1].path,) if inside else reads
            yield Move(start + step.stage, step.stage, kind, step.part, last, layer, stack)
            self.stream = start + step.stage

    def kind(self, step: Step, layer: int, *, is_opened: bool) -> MoveKind:
        match step.part:
            case PartKind.NORM:
                return MoveKind.NORM
            case PartKind.FEED_FORWARD:
                return MoveKind.NARROW if is_opened else MoveKind.FEED
            case PartKind.ATTENTION if not self.config.attends_in(layer):
                return MoveKind.JOIN if is_opened else MoveKind.CARRY
            case PartKind.ATTENTION | PartKind.CROSS_ATTENTION:
                return MoveKind.JOIN if is_opened else MoveKind.ATTEND
            case _:
                return MoveKind.ADD

    def inside(self, step: Step, reads: tuple[str, ...], layer: int, stack: str) -> Iterator[Move]:
        """What happens between what a part reads and what it writes, in a layer that is opened."""
        start = layer_path(layer, stack)
        if start not in self.opened:
            return
        found: tuple[tuple[str, MoveKind, tuple[str, ...]], ...] = ()
        if step.part is PartKind.FEED_FORWARD:
            is_mixture = self.config.has_experts(layer)
            found = (("hidden", MoveKind.WIDEN, reads),)
            if is_mixture:
                found = self.experts(start, reads)
        elif step.part is PartKind.CROSS_ATTENTION:
            found = self.attention(start + CROSS, reads, (self.memory,))
        elif step.part is PartKind.ATTENTION and self.config.attends_in(layer):
            found = self.attention(start, reads, reads)
        elif step.part is PartKind.ATTENTION:
            found = self.state(start, reads)
        for name, kind, of in found:
            path = name if name.startswith(start) else start + name
            yield Move(path, _word(path), kind, step.part, of, layer, stack)

    def attention(
        self, start: str, reads: tuple[str, ...], memory: tuple[str, ...]
    ) -> tuple[tuple[str, MoveKind, tuple[str, ...]], ...]:
        """softmax(QKᵀ/√d_head + mask)·V, a move each."""
        q, k, v, scores, pattern = (start + name for name in ("q", "k", "v", "scores", "pattern"))
        latents: tuple[tuple[str, MoveKind, tuple[str, ...]], ...] = ()
        if self.config.is_latent and not start.endswith(CROSS):
            if self.config.d_q_latent:
                latents = ((start + "q_latent", MoveKind.COMPRESS, reads),)
                reads = (start + "q_latent",)
            latents = (*latents, (start + "kv_latent", MoveKind.COMPRESS, memory))
            memory = (start + "kv_latent",)
        return (
            *latents,
            (q, MoveKind.PROJECT, reads),
            (k, MoveKind.PROJECT, memory),
            (v, MoveKind.PROJECT, memory),
            (scores, MoveKind.SCORES, (q, k)),
            (start + "mask", MoveKind.MASK, (scores,)),
            (pattern, MoveKind.SOFTMAX, (scores,)),
            (start + "head_out", MoveKind.MIX, (pattern, v)),
        )

    def experts(
        self, start: str, reads: tuple[str, ...]
    ) -> tuple[tuple[str, MoveKind, tuple[str, ...]], ...]:
        """The router's wish, its choice, and what the chosen ones think."""
        router, experts = start + "router_probs", start + "experts"
        hidden = (start + "expert_hidden", MoveKind.WIDEN, (*reads, experts))
        return ((router, MoveKind.ROUTE, reads), (experts, MoveKind.SEND, (router,)), hidden)

    def state(
        self, start: str, reads: tuple[str, ...]
    ) -> tuple[tuple[str, MoveKind, tuple[str, ...]], ...]:
        """What is carried in place of keys and values."""
        if self.config.token_mixer is TokenMixer.GRU:
            return ((start + "state", MoveKind.STATE, reads),)
        stays, writes, size = (start + name for name in ("stays", "writes", "state_size"))
        return (
            (stays, MoveKind.GATE, reads),
            (writes, MoveKind.GATE, reads),
            (size, MoveKind.STATE, (stays, writes)),
            (start + "read", MoveKind.STATE, (size,)),
        )

    def final_norm(self, stack: str) -> Iterator[Move]:
        """The stream of every placement but post leaves the last layer without a norm."""
        norm = self.config.norm
        is_normal = norm.norm_placement is NormPlacement.POST
        if is_normal or norm.norm_kind is NormKind.NONE or not self.has_ends:
            return
        path = f"{stack}.final_norm" if stack else "final_norm"
        yield Move(path, "final_norm", MoveKind.NORM, PartKind.NORM, (self.stream,), None, stack)
        self.stream = path

    @property
    def has_ends(self) -> bool:
        """A block ends with its stream; a whole model says something about tokens."""
        return self.config.architecture.reads_tokens

    def ends(self) -> Iterator[Move]:
        """From the last stream to what the model says."""
        stack = "decoder" if self.memory else ""
        at = (PartKind.EMBEDDING, (self.stream,), None, stack)
        yield Move("logits", "logits", MoveKind.LOGITS, *at)
        yield Move("probs", "probs", MoveKind.CHOOSE, PartKind.EMBEDDING, ("logits",), None, stack)


def _word(path: str) -> str:
    return path.rpartition(".")[2]
