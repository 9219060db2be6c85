"""The operations of one layer, each with its FLOPs and the bytes it moves, by formula.

Every operand is read once and every result written once, as where each is a kernel of its own
(Williams et al. 2009). Beside the products of `blocks.cost.flops`, what is cheap in FLOPs and dear
in bytes stands here too: softmax, norms, activation, additions to the stream.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from math import prod
from typing import NamedTuple

import torch

from blocks.cost.parameters import GATE_WIDTHS, Part, Product, config_sizes, expert_width
from blocks.model.config import CONV_WIDTH, ModelConfig
from blocks.model.kinds import Architecture, NormKind, NormPlacement, TokenMixer
from blocks.model.layers import DecoderLayer, encoder_layer
from blocks.model.normalization import Norm
from blocks.model.parts import ExpertsConfig

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
    CONV = "conv"
    STATE = "state"
    NORM = "norm"
    ACTIVATION = "activation"
    ADD = "add"


@dataclass(frozen=True)
class Tokens:
    """The tokens of a pass: `batch` texts of `n` tokens each, all at once or the last one alone."""

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
    rows are shared. Of pairs: heads of keys and values, and their widths. `times`: how often a
    layer does it. `keys` names the size that says how many keys each query meets. `instead_of`:
    steps that a fused kernel does at once.
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
        """The part it belongs to, as in `count_parameters`."""
        return self.flops.group


def operations(config: ModelConfig, phase: Phase) -> tuple[Operation, ...]:
    """The steps of one layer in the order in which they run, and of a whole model the logits.

    Of an encoder–decoder it is a layer of the decoder, which also reads the source; of a mixture, a
    layer with experts. Raises `ValueError` for a hybrid: ask for one of its layers, see `like`.
    """
    if config.is_hybrid:
        raise ValueError("the layers of a hybrid differ: ask for config.like(layer)")
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
    """Return the phases of a model; an encoder reads at once and writes nothing."""
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
    """Multiply named sizes."""
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
    if config.token_mixer is TokenMixer.GRU:
        yield from _gru(tokens)
        return
    if config.token_mixer is TokenMixer.GATED_DELTA:
        yield from _gated_delta(tokens)
        return
    if config.is_latent:
        yield from _latent(config, phase, tokens)
        return
    yield _linear(f"{prefix}q_proj", group, tokens, ("d_model",), QUERIES)
    if not prefix or phase is Phase.PREFILL:  # those of a source are computed once
        rows: Product = ("batch", keys) if prefix else tokens
        yield _linear(f"{prefix}k_proj", group, rows, ("d_model",), KEYS)
        yield _linear(f"{prefix}v_proj", group, rows, ("d_model",), KEYS)
    yield from _pairs(prefix, group, keys, Heads("n_kv_heads", "d_head", "d_head"))
    if gate := GATE_WIDTHS.get(config.attention.attention_gate):
        yield _linear(f"{prefix}out_gate_proj", group, tokens, ("d_model",), gate)
    yield _linear(f"{prefix}out_proj", group, tokens, QUERIES, ("d_model",))


def _gru(tokens: Product) -> Iterator[Operation]:
    """Weights that meet the state are read again for each token: none can be taken with another."""
    three: Product = (3, "d_model")
    yield _linear("input_proj", "mixer", tokens, ("d_model",), three)
    moved = (("n_new", *three, "d_model"), (*tokens, *three), (2, *tokens, "d_model"))
    flops: Product = (2, *tokens, *three, "d_model")
    yield _operation("state_proj", "mixer", Work.STATE, flops, moved)
    yield _linear("out_proj", "mixer", tokens, ("d_model",), ("d_model",))


def _gated_delta(tokens: Product) -> Iterator[Operation]:
    """The state is read once and written once: between two tokens it stays where it is."""
    heads: Product = ("n_state_heads", "d_state")
    group, three = "mixer", (3, *heads)
    for name in ("q_proj", "k_proj"):
        yield _linear(name, group, tokens, ("d_model",), ("n_key_heads", "d_state"))
    yield _linear("v_proj", group, tokens, ("d_model",), heads)
    made: Product = (*tokens, "d_conv")
    moved: tuple[Product, ...] = ((CONV_WIDTH, "d_conv"), made, made)
    yield _operation("conv", group, Work.CONV, (2, *tokens, CONV_WIDTH, "d_conv"), moved)
    for name in ("write_proj", "decay_proj"):
        yield _linear(name, group, tokens, ("d_model",), ("n_state_heads",))
    square: Product = ("batch", *heads, "d_state")
    moved = ((*tokens, *three), (2, *tokens, "n_state_heads"), (2, *square), (*tokens, *heads))
    flops: Product = (2, *tokens, *three, "d_state")
    yield _operation("state", group, Work.STATE, flops, moved)
    yield _linear("out_gate_proj", group, tokens, ("d_model",), heads)
    yield _linear("out_proj", group, tokens, heads, ("d_model",))


def _latent(config: ModelConfig, phase: Phase, tokens: Product) -> Iterator[Operation]:
    """Keys and values made of latents; a token that meets cached ones reads the latents."""
    group, source = "attention", "d_q_latent" if config.d_q_latent else "d_model"
    if config.d_q_latent:
        yield _linear("q_latent_proj", group, tokens, ("d_model",), ("d_q_latent",))
    yield _linear("q_proj", group, tokens, (source,), ("n_heads", "d_qk"))
    yield _linear("kv_latent_proj", group, tokens, ("d_model",), ("d_cached",))
    rows, heads = (*tokens, "n_heads"), ("n_heads",)
    if phase is Phase.PREFILL:
        yield _linear("kv_proj", group, tokens, ("d_kv_latent",), ("n_heads", "d_kv"))
        yield from _pairs("", group, "n_keys", Heads("n_heads", "d_qk", "d_value"))
    else:
        for name, d_in, d_out in (("k", "d_head", "d_kv_latent"), ("v", "d_kv_latent", "d_value")):
            yield _linear(f"absorbed_{name}_proj", group, rows, (d_in,), (d_out,), experts=heads)
        yield from _pairs("", group, "n_keys", Heads(1, "d_cached", "d_kv_latent"))
    yield _linear("out_proj", group, tokens, ("n_heads", "d_value"), ("d_model",))


class Heads(NamedTuple):
    """How many heads of keys and values there are, and how wide a key and a value is."""

    n: str | int
    key: str
    value: str


def _pairs(prefix: str, group: str, keys: str, heads: Heads) -> Iterator[Operation]:
    """Scores, softmax, values: one by one, and at once."""
    queries: Product = ("batch", "n_heads", "n_new", heads.key)
    read: Product = ("batch", "n_heads", "n_new", heads.value)
    k: Product = ("batch", heads.n, keys, heads.key)
    v: Product = ("batch", heads.n, keys, heads.value)
    pairs: Product = ("batch", "n_heads", "n_new", keys)
    scores, values = ((2, *pairs, width) for width in (heads.key, heads.value))
    three = tuple(f"{prefix}{name}" for name in ("scores", "softmax", "values"))
    shape = tuple((each,) for each in heads)
    moved = (queries, k, pairs)
    yield _operation(three[0], group, Work.SCORES, scores, moved, keys=keys, shape=shape)
    soft: Product = (PER_SCORE, *pairs)
    yield _operation(three[1], group, Work.SOFTMAX, soft, ((2, *pairs),), keys=keys, shape=shape)
    moved = (pairs, v, read)
    yield _operation(three[2], group, Work.VALUES, values, moved, keys=keys, shape=shape)
    name = f"{prefix}fused"
    is_alike = heads.key == heads.value
    products = ((2, *scores),) if is_alike else (scores, values)
    both = ((2, *queries), (2, *k)) if is_alike else (queries, read, k, v)
    flops, moved_at_once = Part(name, group, (*products, soft)), Part(name, group, both)
    yield Operation(name, Work.FUSED, flops, moved_at_once, shape, keys=keys, instead_of=three)


def _feed_forward(config: ModelConfig) -> Iterator[Operation]:
    if config.attention_only:
        return
    rows: Product = ("batch", "n_new")
    if config.n_experts == 1:
        yield from _dense(config, rows, ("d_ff",))
        return
    yield _linear("router", "feed_forward", rows, ("d_model",), ("n_experts",))
    width, routed = expert_width(config), (*rows, "n_active_experts")
    yield from _dense(config, routed, (width,), experts=("n_read_experts",))
    if config.n_shared_experts:
        yield from _dense(config, rows, ("n_shared_experts", width), prefix="shared_")
    if config.has_shared_gate:
        yield _linear("shared_expert_gate", "feed_forward", rows, ("d_model",), (1,))


def _dense(
    config: ModelConfig, rows: Product, width: Product, *, experts: Product = (), prefix: str = ""
) -> Iterator[Operation]:
    """One feed-forward layer, or several `experts` that share the rows."""
    group, is_gated = "feed_forward", config.feed_forward.activation.is_gated
    for name in ("gate_proj", "up_proj") if is_gated else ("up_proj",):
        yield _linear(f"{prefix}{name}", group, rows, ("d_model",), width, experts=experts)
    wide: Product = (*rows, *width)
    flops, moved = ((2, *wide), (3, *wide)) if is_gated else (wide, (2, *wide))
    yield _operation(f"{prefix}activation", group, Work.ACTIVATION, flops, (moved,))
    yield _linear(f"{prefix}down_proj", group, rows, width, ("d_model",), experts=experts)


def _norms(config: ModelConfig) -> Iterator[Operation]:
    """All norms of a layer are alike; those of queries and keys are left out."""
    kind = config.norm.norm_kind
    if kind is not NormKind.NONE:
        flops, moved = (PER_NORMED[kind], *STREAM), ((2, *STREAM),)
        yield _operation("norm", "norm", Work.NORM, flops, moved, times=_n_norms(config))


def _n_norms(config: ModelConfig) -> int:
    """Counted in the layer as it is built, without its memory and without its experts."""
    return _norms_around(replace(config, experts=ExpertsConfig()))


@lru_cache(maxsize=64)
def _norms_around(config: ModelConfig) -> int:
    is_of_two = config.architecture is Architecture.ENCODER_DECODER
    with torch.device("meta"):
        last = config.n_layers - 1
        layer = DecoderLayer(config, last) if is_of_two else encoder_layer(config, last)
    norms = sum(isinstance(module, Norm) for module in layer.modules())
    inside = layer.get_submodule("attention").modules()
    return norms - sum(isinstance(module, Norm) for module in inside)


def _adds(config: ModelConfig) -> list[Operation]:
    """x + write, once for each sub-layer; where both write at once, their sum is one more."""
    n_sublayers = 2 if config.architecture is Architecture.ENCODER_DECODER else 1
    n_sublayers += not config.attention_only
    is_parallel = config.norm.norm_placement is NormPlacement.PARALLEL
    times = n_sublayers if config.norm.residual else int(is_parallel)
    moved = ((3, *STREAM),)
    return [_operation("residual", "residual", Work.ADD, STREAM, moved, times=times)][:times]
