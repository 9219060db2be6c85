"""Run one operation of a layer alone, in its true shapes, on random operands."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from blocks.cost.operands import BEYOND_CACHES, Operands
from blocks.cost.operations import (
    Operation,
    Phase,
    Tokens,
    Work,
    count_product,
    operation_sizes,
    operations,
)
from blocks.cost.parameters import total_parameters
from blocks.cost.timing import Times, measure_times
from blocks.model.attention import attend
from blocks.model.config import CONV_WIDTH, ModelConfig
from blocks.model.feed_forward import ACTIVATIONS
from blocks.model.gated_delta import delta_rule, of_length_1
from blocks.model.gru import GRU
from blocks.model.kinds import TokenMixer
from blocks.model.kv_cache import kv_cache_bytes
from blocks.model.masks import causal
from blocks.model.normalization import at_least_float32, build_norm
from blocks.model.probe import Probe

Call = Callable[[], Tensor]
IN_STEPS = (Work.NORM, Work.SOFTMAX, Work.ACTIVATION, Work.FUSED, Work.STATE)
"""Work that may hold its numbers several times: after each of its steps, and in float32."""


def measure_operation(
    config: ModelConfig,
    tokens: Tokens,
    name: str,
    *,
    device: torch.device | str,
    dtype: torch.dtype,
    seed: int = 0,
) -> Times:
    """Time the operation of this name, without gradients. Raises KeyError where there is none."""
    found = {each.name: each for each in operations(config, tokens.phase)}
    draw = Operands(
        device, dtype, working_set=working_set(config, tokens, itemsize=dtype.itemsize), seed=seed
    )
    with torch.inference_mode():
        return measure_times(prepare(found[name], config, tokens, draw), device)


def working_set(config: ModelConfig, tokens: Tokens, *, itemsize: int) -> int:
    """Bytes that a pass of the whole model reads once: its weights, its cached keys and values."""
    weights = total_parameters(config) * itemsize
    cached = kv_cache_bytes(config, itemsize, tokens.n) * tokens.batch
    return weights + (cached if tokens.phase is Phase.DECODE else 0)


def needed_bytes(operation: Operation, sizes: dict[str, int], *, itemsize: int) -> int:
    """An upper bound of what measuring it allocates."""
    n_copies = 4 if operation.work in IN_STEPS else 2
    return n_copies * operation.moved.count(sizes) * itemsize + 2 * BEYOND_CACHES


def prepare(operation: Operation, config: ModelConfig, tokens: Tokens, draw: Operands) -> Call:
    """The operation as a call without arguments; its operands are drawn here."""
    sizes = operation_sizes(config, tokens)
    match operation.work:
        case Work.LINEAR:
            return _linear(operation, sizes, draw)
        case Work.NORM:
            return _norm(config, sizes, draw)
        case Work.ACTIVATION:
            return _activation(operation, config, sizes, draw)
        case Work.CONV:
            return _conv(sizes, draw)
        case Work.STATE:
            return _state(config, sizes, draw)
        case Work.ADD:
            x, write = (draw.tensor(*_stream(sizes)) for _ in range(2))
            return partial(torch.add, x, write)
        case _:
            return _pairs(operation, config, tokens, sizes, draw)


def _stream(sizes: dict[str, int]) -> tuple[int, int, int]:
    return sizes["batch"], sizes["n_new"], sizes["d_model"]


def _linear(operation: Operation, sizes: dict[str, int], draw: Operands) -> Call:
    """x Wᵀ; of several experts each takes its even share of the rows."""
    rows, d_in, d_out = (count_product(factors, sizes) for factors in operation.shape)
    x = draw.tensor(rows, d_in)
    if not operation.experts:
        weights = draw.rotating(d_out, d_in)
        return lambda: F.linear(x, next(weights))
    n_read = count_product(operation.experts, sizes)
    shares, experts = x.tensor_split(n_read), draw.rotating(n_read, d_out, d_in)
    return lambda: torch.cat([F.linear(x, w) for x, w in zip(shares, next(experts), strict=True)])


def _conv(sizes: dict[str, int], draw: Operands) -> Call:
    """The short convolution of queries, keys and values."""
    width = sizes["d_conv"]
    x = draw.tensor(sizes["batch"], width, sizes["n_new"] + CONV_WIDTH - 1)
    return partial(F.conv1d, x, draw.tensor(width, 1, CONV_WIDTH), groups=width)


def _state(config: ModelConfig, sizes: dict[str, int], draw: Operands) -> Call:
    """Return the call of the recurrence from token to token, by the model's own function."""
    batch, n_new, d_model = _stream(sizes)
    if config.token_mixer is TokenMixer.GRU:
        given, h = draw.tensor(batch, n_new, 3 * d_model), draw.tensor(batch, d_model)
        with torch.device("meta"):
            unit = GRU(config)
        unit = unit.to(given.dtype).to_empty(device=given.device)
        for weight in unit.requires_grad_(False).parameters():
            draw.fill(weight)
        return partial(unit.states, given, h)
    heads, d_head = (batch, sizes["n_state_heads"], n_new), sizes["d_state"]
    q, k, v = (of_length_1(draw.tensor(*heads, d_head)) for _ in range(3))
    decay, write = -draw.tensor(*heads).abs(), draw.tensor(*heads).sigmoid()
    state = at_least_float32(draw.tensor(*heads[:2], d_head, d_head))
    return lambda: delta_rule(q, k, v, decay, write, state)[0]


def _norm(config: ModelConfig, sizes: dict[str, int], draw: Operands) -> Call:
    """The model's own module."""
    x = draw.tensor(*_stream(sizes))
    norm = build_norm(config, Probe("norm")).to(x.device, x.dtype)
    for tensor in norm.state_dict().values():
        tensor.fill_(1)
    return partial(norm, x)


def _activation(
    operation: Operation, config: ModelConfig, sizes: dict[str, int], draw: Operands
) -> Call:
    """Bend, and let what is bent decide how much of the other passes."""
    kind = config.feed_forward.activation
    bend, n = ACTIVATIONS[kind], operation.flops.count(sizes)
    if not kind.is_gated:
        return partial(bend, draw.tensor(n))
    gate, up = draw.tensor(n // 2), draw.tensor(n // 2)
    return lambda: bend(gate) * up


def _pairs(
    operation: Operation, config: ModelConfig, tokens: Tokens, sizes: dict[str, int], draw: Operands
) -> Call:
    """Return the call of a product of pairs; queries of one group read the same key head."""
    batch, n_new = sizes["batch"], sizes["n_new"]
    n_kv, d_key, d_value = (count_product(factors, sizes) for factors in operation.shape)
    n_keys, group = sizes[operation.keys], sizes["n_heads"] // n_kv
    is_cached = tokens.phase is Phase.DECODE
    cached = draw.rotating if is_cached else draw.same
    grouped = batch, n_kv, group * n_new
    match operation.work:
        case Work.SCORES:
            q, k = draw.tensor(*grouped, d_key), cached(batch, n_kv, n_keys, d_key)
            return lambda: q @ next(k).mT
        case Work.SOFTMAX:
            return partial(draw.tensor(*grouped, n_keys).softmax, dim=-1)
        case Work.VALUES:
            pattern, v = draw.tensor(*grouped, n_keys), cached(batch, n_kv, n_keys, d_value)
            return lambda: pattern @ next(v)
        case _:
            q = draw.tensor(batch, n_kv * group, n_new, d_key)
            k, v = (cached(batch, n_kv, n_keys, width) for width in (d_key, d_value))
            mask = _mask(operation, config, tokens, q.device)
            return lambda: attend(q, next(k), next(v), mask)


def _mask(
    operation: Operation, config: ModelConfig, tokens: Tokens, device: torch.device
) -> Tensor | None:
    """Return the mask: causal for a decoder; a single token reads all there is."""
    is_self = operation.keys == "n_keys"
    is_causal = config.architecture.generates and is_self and tokens.phase is Phase.PREFILL
    return causal(tokens.n, device) if is_causal else None
