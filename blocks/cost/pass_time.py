"""Time a layer of a model, or all of it, as it runs where nobody looks: here, on random values."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from itertools import cycle

import torch
from torch import Tensor, nn

from blocks.cost.operands import Operands
from blocks.cost.operation_time import working_set
from blocks.cost.operations import Phase, Tokens
from blocks.cost.peak_memory import peak_memory
from blocks.cost.timing import Times, measure_times
from blocks.model.config import ModelConfig
from blocks.model.kinds import Architecture
from blocks.model.kv_cache import (
    Cache,
    CrossCache,
    KVCache,
    LayerCache,
    StateCache,
    layer_windows,
    state_shapes,
)
from blocks.model.layers import DecoderLayer, encoder_layer
from blocks.model.masks import causal
from blocks.model.models import EncoderDecoder, Model
from blocks.model.normalization import at_least_float32
from blocks.model.randomness import generator
from blocks.model.source_target import SourceTarget

Call = Callable[[], object]


@dataclass(frozen=True)
class PassTime:
    """One pass: how long, and the most memory at once beyond weights and input."""

    times: Times
    peak_bytes: int


class FilledCache(LayerCache):
    """A cache of n tokens that grows no more: the newest is written over the one before."""

    def __init__(self, keys: Tensor, values: Tensor):
        super().__init__()
        self.keys, self.values, self.seen = keys, values, keys.shape[2] - 1

    def extend(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Put the next token in its place; all keys and values, those of n tokens."""
        assert self.keys is not None and self.values is not None
        self.keys[:, :, -1:], self.values[:, :, -1:] = keys, values
        return self.keys, self.values


def measure_layer(
    config: ModelConfig,
    tokens: Tokens,
    *,
    device: torch.device | str,
    dtype: torch.dtype,
    seed: int = 0,
    is_backward: bool = False,
) -> PassTime:
    """One layer (of an encoder–decoder, of its decoder), forward, or forward and back.

    Layers take turns, as many as the model has at most, so that weights come from where they do
    in the whole model. Back means to the input and to every weight.
    """
    draw = _draw(config, tokens, device, dtype, seed)
    layer = _random_layer(config, draw, device, dtype)
    n_bytes = sum(p.numel() * p.itemsize for p in layer.parameters())
    n_copies = min(draw.n_copies(n_bytes), config.n_layers)
    layers = [layer, *(deepcopy(layer) for _ in range(n_copies - 1))]
    calls = cycle([_call(each, config, tokens, draw, is_backward=is_backward) for each in layers])
    with torch.set_grad_enabled(is_backward):
        return _measure(lambda: next(calls)(), device)


def measure_model(
    model: Model,
    config: ModelConfig,
    tokens: Tokens,
    *,
    device: torch.device | str,
    dtype: torch.dtype,
    seed: int = 0,
) -> PassTime:
    """Time a model's forward on random tokens; decode means one token after n - 1 in a cache."""
    draw = _draw(config, tokens, device, dtype, seed)
    work = _model_call(model, config, tokens, draw, seed)
    with torch.inference_mode():
        return _measure(work, device)


def _measure(work: Call, device: torch.device | str) -> PassTime:
    with peak_memory(torch.device(device)) as memory:  # counting slows it down: not timed
        work()
    return PassTime(measure_times(work, device), memory.peak_bytes)


def _draw(
    config: ModelConfig, tokens: Tokens, device: torch.device | str, dtype: torch.dtype, seed: int
) -> Operands:
    whole = working_set(config, tokens, itemsize=dtype.itemsize)
    return Operands(device, dtype, working_set=whole, seed=seed)


def _random_layer(
    config: ModelConfig, draw: Operands, device: torch.device | str, dtype: torch.dtype
) -> nn.Module:
    """Built like the model's, with weights that are only there to be computed with."""
    with torch.device("meta"):
        last = config.n_layers - 1  # of a mixture, one with experts
        layer = (DecoderLayer if _is_of_two(config) else encoder_layer)(config, last)
    layer = layer.eval().to(dtype).to_empty(device=device)
    with torch.no_grad():
        for buffer in layer.buffers():
            buffer.fill_(1)
        for weight in layer.parameters():
            draw.fill(weight)
    return layer


def _call(
    layer: nn.Module, config: ModelConfig, tokens: Tokens, draw: Operands, *, is_backward: bool
) -> Call:
    x = draw.tensor(tokens.batch, tokens.n_new, config.d_model)
    read = partial(layer, x, **_context(config, tokens, draw))
    if not is_backward:
        return read
    x.requires_grad_(True)
    upstream, wanted = draw.tensor(*x.shape), [x, *layer.parameters()]
    return lambda: torch.autograd.grad(read(), wanted, upstream, allow_unused=True)


def _context(config: ModelConfig, tokens: Tokens, draw: Operands) -> dict[str, object]:
    """Return what a layer is told beside its input: mask or cache, and the source."""
    is_decode = tokens.phase is Phase.DECODE
    is_causal = config.architecture.generates and not is_decode
    context: dict[str, object] = {
        "mask": causal(tokens.n, draw.drawn.device) if is_causal else None,
        "past": _past(config, tokens, draw, config.n_layers - 1) if is_decode else None,
    }
    if _is_of_two(config):
        context["memory"] = draw.tensor(tokens.batch, tokens.n, config.d_model)
        context["cross_past"] = _cross(config, tokens, draw) if is_decode else None
    return {name: value for name, value in context.items() if value is not None}


def _past(
    config: ModelConfig, tokens: Tokens, draw: Operands, layer: int, window: int | None = None
) -> Cache:
    """Build the cache of a layer, counted from 0, with the tokens before."""
    if config.attends_in(layer):
        keys, values = _keys_and_values(config, tokens, draw)
        n = tokens.n if window is None else min(tokens.n, window)
        return FilledCache(keys[:, :, :n].contiguous(), values[:, :, :n].contiguous())
    return _state(config, tokens, draw)


def _state(config: ModelConfig, tokens: Tokens, draw: Operands) -> StateCache:
    """Random, as the first state after so many tokens."""
    cache = StateCache()
    vectors, *matrices = (draw.tensor(tokens.batch, *shape) for shape in state_shapes(config))
    cache.keep((vectors, *map(at_least_float32, matrices)), tokens.n - 1)
    return cache


def _cross(config: ModelConfig, tokens: Tokens, draw: Operands) -> CrossCache:
    return CrossCache(*_keys_and_values(config, tokens, draw))


def _keys_and_values(config: ModelConfig, tokens: Tokens, draw: Operands) -> tuple[Tensor, Tensor]:
    widths, n_kv_heads = (config.d_head, config.d_head), config.n_kv_heads
    if config.is_latent:
        widths, n_kv_heads = (config.d_kv_latent, config.d_rotary), 1
    keys, values = (draw.tensor(tokens.batch, n_kv_heads, tokens.n, width) for width in widths)
    return keys, values


def _is_of_two(config: ModelConfig) -> bool:
    return config.architecture is Architecture.ENCODER_DECODER


def _model_call(
    model: Model, config: ModelConfig, tokens: Tokens, draw: Operands, seed: int
) -> Call:
    is_decode = tokens.phase is Phase.DECODE
    if not config.architecture.reads_tokens:
        x = draw.tensor(tokens.batch, tokens.n_new, config.d_model)
        if not is_decode:
            return partial(model, x)
        windows = layer_windows(config)
        pasts = [_past(config, tokens, draw, i, window) for i, window in enumerate(windows)]
        return partial(_through, tuple(model.layers), x, pasts)
    shape, drawn = (tokens.batch, tokens.n_new), generator(seed, "measured_tokens")
    ids = torch.randint(config.vocab_size, shape, generator=drawn).to(draw.drawn.device)
    if isinstance(model, EncoderDecoder):
        if not is_decode:
            return partial(model, SourceTarget(ids, ids))
        memory = draw.tensor(tokens.batch, tokens.n, config.d_model)
        return partial(model.decode, ids, memory, cache=_cache(config, tokens, draw))
    return (
        partial(model, ids, cache=_cache(config, tokens, draw))
        if is_decode
        else partial(model, ids)
    )


def _through(layers: Sequence[nn.Module], x: Tensor, pasts: Sequence[Cache]) -> Tensor:
    """One vector through all blocks, each with its cache."""
    for layer, past in zip(layers, pasts, strict=True):
        x = layer(x, None, past)
    return x


def _cache(config: ModelConfig, tokens: Tokens, draw: Operands) -> KVCache:
    """Full of random keys and values or states, in every layer its own."""
    cache = KVCache(config)
    cache.layers = tuple(
        _past(config, tokens, draw, i, each.window_size) for i, each in enumerate(cache.layers)
    )
    cache.cross = tuple(_cross(config, tokens, draw) for _ in cache.cross)
    return cache
