"""The operations of one layer, each with its FLOPs and the bytes it moves, by formula.

Every operand is read once and every result written once, as where each is a kernel of its own
(Williams et al. 2009). Beside the products of `blocks.cost.flops`, what is cheap in FLOPs and dear
in bytes stands here too: softmax, norms, activation, additions to the stream.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from math import prod

import torch

from blocks.cost.parameters import Part, Product, config_sizes
from blocks.model.config import ModelConfig
from blocks.model.kinds import Architecture, NormKind, NormPlacement
from blocks.model.layers import DecoderLayer, encoder_layer
from blocks.model.normalization import Norm

QUERIES: Product = ("n_heads", "d_head")
KEYS: Product = ("n_kv_heads", "d_head")
STREAM: Product = ("batch", "n_new", "d_model")
# FLOPs for each number, as our modules compute it; a root, an exponential counts as one.
PER_SCORE = 5  # maximum, subtract, exponential, add, divide
PER_NORMED = {
    NormKind.LAYER_NORM: 8,  # mean 1, variance 3, subtract, multiply, scale, shift
    NormKind.RMS_NORM: 4,  # square, add, multiply, scale
    NormKind.BATCH_NORM: 4,  # subtract, multiply, scale, shift
    NormKind.NONE: 0,
}


class Phase(StrEnum):
    """What a model does with a text: read all of it at once, or write the next token."""

    PREFILL = "prefill"
    DECODE = "decode"


class Work(StrEnum):
    """Kinds of work; see `blocks.cost.operation_time` for what is run."""

    LINEAR = "linear"
    SCORES = "scores"
    SOFTMAX = "softmax"
    VALUES = "values"
    FUSED = "fused"
    NORM = "norm"
    ACTIVATION = "activation"
    ADD = "add"


@dataclass(frozen=True)
class Tokens:
    """What goes through: `batch` texts of `n` tokens each, all at once or the last one alone."""

    phase: Phase
    n: int
    batch: int = 1

    @property
    def n_new(self) -> int:
        """Tokens of each text that are computed."""
        return self.n if self.phase is Phase.PREFILL else 1


@dataclass(frozen=True)
class Operation:
    """One step: `flops` and `moved` (numbers read and written) count it, in letters too.

    `shape`: rows, width in and width out of a product with weights; `experts`: among how many the
    rows are shared. `times`: how often a layer does it. `keys` names the size that says how many
    keys each query meets. `instead_of`: steps that a fused kernel does at once.
    """

    name: str
    work: Work
    flops: Part
    moved: Part
    shape: tuple[Product, ...] = ()
    experts: Product = ()
    times: int = 1
    keys: str = "n_keys"
    instead_of: tuple[str, ...] = ()

    @property
    def group(self) -> str:
        """What it belongs to, as in `count_parameters`."""
        return self.flops.group


def operations(config: ModelConfig, phase: Phase) -> tuple[Operation, ...]:
    """The steps of one layer in the order in which they run, and of a whole model the logits.

    Of an encoder–decoder it is a layer of the decoder, which also reads the source.
    """
    steps = [*_norms(config), *_attention(config, phase)]
    if config.architecture is Architecture.ENCODER_DECODER:
        steps += _attention(config, phase, prefix="cross_", keys="n_source")
    steps += _feed_forward(config)
    steps += _adds(config)
    if config.architecture.reads_tokens:
        rows, d_out = ("batch", "n_new"), ("vocab_size",)
        steps.append(_linear("unembed", "embedding", rows, ("d_model",), d_out))
    return tuple(steps)


def phases(config: ModelConfig) -> tuple[Phase, ...]:
    """What a model does with a text; an encoder reads it at once and writes nothing."""
    is_encoder = config.architecture is Architecture.ENCODER
    return (Phase.PREFILL,) if is_encoder else tuple(Phase)


def operation_sizes(config: ModelConfig, tokens: Tokens) -> dict[str, int]:
    """Every size that the formulas name; a source is as long as the target."""
    routed = tokens.batch * tokens.n_new * config.n_active_experts
    return {
        **config_sizes(config),
        "batch": tokens.batch,
        "n_new": tokens.n_new,
        "n_keys": tokens.n,
        "n_source": tokens.n,
        "n_active_experts": config.n_active_experts,
        "n_read_experts": min(config.n_experts, routed),
    }


def count_product(factors: Product, sizes: dict[str, int]) -> int:
    """What the named sizes come to, multiplied."""
    return prod(sizes[each] if isinstance(each, str) else each for each in factors)


def _operation(
    name: str, group: str, work: Work, flops: Product, moved: tuple[Product, ...], **more: object
) -> Operation:
    flop_part, moved_part = Part(name, group, (flops,)), Part(name, group, moved)
    return Operation(name, work, flop_part, moved_part, **more)  # type: ignore[arg-type]


def _linear(
    name: str, group: str, rows: Product, d_in: Product, d_out: Product, *, experts: Product = ()
) -> Operation:
    """A product with weights; of several `experts` each reads its share of the rows."""
    moved = ((*rows, *d_in), (*experts, *d_in, *d_out), (*rows, *d_out))
    flops: Product = (2, *rows, *d_in, *d_out)
    shape = (rows, d_in, d_out)
    return _operation(name, group, Work.LINEAR, flops, moved, shape=shape, experts=experts)


def _attention(
    config: ModelConfig, phase: Phase, *, prefix: str = "", keys: str = "n_keys"
) -> Iterator[Operation]:
    group = f"{prefix}attention"
    tokens: Product = ("batch", "n_new")
    yield _linear(f"{prefix}q_proj", group, tokens, ("d_model",), QUERIES)
    if not prefix or phase is Phase.PREFILL:  # those of a source are computed once
        rows: Product = ("batch", keys) if prefix else tokens
        yield _linear(f"{prefix}k_proj", group, rows, ("d_model",), KEYS)
        yield _linear(f"{prefix}v_proj", group, rows, ("d_model",), KEYS)
    yield from _pairs(prefix, group, keys)
    yield _linear(f"{prefix}out_proj", group, tokens, QUERIES, ("d_model",))


def _pairs(prefix: str, group: str, keys: str) -> Iterator[Operation]:
    """Scores, softmax, values: one by one, and at once."""
    queries: Product = ("batch", "n_heads", "n_new", "d_head")
    cached: Product = ("batch", "n_kv_heads", keys, "d_head")
    pairs: Product = ("batch", "n_heads", "n_new", keys)
    product: Product = (2, *pairs, "d_head")
    three = tuple(f"{prefix}{name}" for name in ("scores", "softmax", "values"))
    moved = (queries, cached, pairs)
    yield _operation(three[0], group, Work.SCORES, product, moved, keys=keys)
    soft: Product = (PER_SCORE, *pairs)
    yield _operation(three[1], group, Work.SOFTMAX, soft, ((2, *pairs),), keys=keys)
    moved = (pairs, cached, queries)
    yield _operation(three[2], group, Work.VALUES, product, moved, keys=keys)
    name, both = f"{prefix}fused", ((2, *queries), (2, *cached))
    flops = Part(name, group, ((2, *product), soft))
    moved_at_once = Part(name, group, both)
    yield Operation(name, Work.FUSED, flops, moved_at_once, keys=keys, instead_of=three)


def _feed_forward(config: ModelConfig) -> Iterator[Operation]:
    if config.attention_only:
        return
    group = "feed_forward"
    rows: Product = ("batch", "n_new")
    experts: Product = ()
    if config.n_experts > 1:
        yield _linear("router", group, rows, ("d_model",), ("n_experts",))
        rows, experts = (*rows, "n_active_experts"), ("n_read_experts",)
    is_gated = config.feed_forward.activation.is_gated
    for name in ("gate_proj", "up_proj") if is_gated else ("up_proj",):
        yield _linear(name, group, rows, ("d_model",), ("d_ff",), experts=experts)
    wide: Product = (*rows, "d_ff")
    flops, moved = ((2, *wide), (3, *wide)) if is_gated else (wide, (2, *wide))
    yield _operation("activation", group, Work.ACTIVATION, flops, (moved,))
    yield _linear("down_proj", group, rows, ("d_ff",), ("d_model",), experts=experts)


def _norms(config: ModelConfig) -> Iterator[Operation]:
    """All norms of a layer are alike; those of queries and keys are left out."""
    kind = config.norm.norm_kind
    if kind is not NormKind.NONE:
        flops, moved = (PER_NORMED[kind], *STREAM), ((2, *STREAM),)
        yield _operation("norm", "norm", Work.NORM, flops, moved, times=_n_norms(config))


def _n_norms(config: ModelConfig) -> int:
    """Counted in the layer as it is built, without its memory."""
    is_of_two = config.architecture is Architecture.ENCODER_DECODER
    with torch.device("meta"):
        layer = DecoderLayer(config) if is_of_two else encoder_layer(config)
    return sum(isinstance(module, Norm) for module in layer.modules())


def _adds(config: ModelConfig) -> list[Operation]:
    """x + write, once for each sub-layer; where both write at once, their sum is one more."""
    n_sublayers = 2 if config.architecture is Architecture.ENCODER_DECODER else 1
    n_sublayers += not config.attention_only
    is_parallel = config.norm.norm_placement is NormPlacement.PARALLEL
    times = n_sublayers if config.norm.residual else int(is_parallel)
    moved = ((3, *STREAM),)
    return [_operation("residual", "residual", Work.ADD, STREAM, moved, times=times)][:times]
