"""One size of a layer doubles, all others stay: what time and memory do, and what FLOPs say."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Any

from blocks.cost.memory import estimate_memory
from blocks.cost.operations import Tokens
from blocks.cost.pass_time import PassTime, measure_layer
from blocks.cost.roofline import as_run, count_operations
from blocks.cost.timing import Place
from blocks.model.config import ModelConfig
from blocks.model.faults import ConfigError
from blocks.model.kinds import Architecture

LONGEST_PASS, MARGIN = 0.6, 1.5
DOUBLINGS = range(-4, 5)
FLOPS_BACK = 2
"""A pass back has two products for each one forward: to the input, and to the weights."""


class Swept(StrEnum):
    """The quantity that a sweep doubles."""

    TOKENS = "tokens"
    D_MODEL = "d_model"
    N_HEADS = "n_heads"
    BATCH = "batch"


SIZES = {
    Swept.TOKENS: tuple(2**i for i in range(4, 13)),
    Swept.BATCH: tuple(2**i for i in range(8)),
    Swept.N_HEADS: tuple(2**i for i in range(8)),
}

Case = tuple[ModelConfig, Tokens]


def swept(config: ModelConfig, tokens: Tokens, what: Swept) -> dict[int, Case]:
    """The layers that are measured, by the size that doubles; those that are legal.

    With d_model, d_head and d_ff grow in proportion, and the number of heads stays. Heads divide
    d_model among them, and groups that share keys and values stay as large as they can.
    """
    one = one_layer(config)
    match what:
        case Swept.TOKENS:
            return {n: (one, replace(tokens, n=n)) for n in SIZES[what]}
        case Swept.BATCH:
            return {n: (one, replace(tokens, batch=n)) for n in SIZES[what]}
        case Swept.N_HEADS:
            return {each.n_heads: (each, tokens) for each in _with_heads(one)}
        case Swept.D_MODEL:
            return {each.d_model: (each, tokens) for each in _with_width(one)}


def one_layer(config: ModelConfig) -> ModelConfig:
    """One layer of a model, without its vocabulary."""
    if config.architecture is not Architecture.ENCODER_DECODER:
        return config.replace(n_layers=1, vocab_size=1)
    return config.replace(n_layers=1, n_decoder_layers=1, vocab_size=1)


def _with_heads(config: ModelConfig) -> Iterator[ModelConfig]:
    group = config.n_heads // config.n_kv_heads
    for n in SIZES[Swept.N_HEADS]:
        n_kv_heads = n // group if n % group == 0 else 1
        yield from _legal(config, n_heads=n, n_kv_heads=n_kv_heads, d_head=None)


def _with_width(config: ModelConfig) -> Iterator[ModelConfig]:
    d_head = config.attention.d_head
    for power in DOUBLINGS:
        sizes = {"d_model": config.d_model, "d_ff": config.d_ff, "d_head": d_head or config.d_head}
        scaled = {name: size * 2.0**power for name, size in sizes.items()}
        if all(size.is_integer() for size in scaled.values()):
            whole = {name: int(size) for name, size in scaled.items()}
            yield from _legal(config, **whole | ({} if d_head else {"d_head": None}))


def _legal(config: ModelConfig, **changes: int | None) -> Iterator[ModelConfig]:
    try:
        yield config.replace(**changes)
    except ConfigError:
        return


def layer_flops(config: ModelConfig, tokens: Tokens, *, is_backward: bool = False) -> int:
    """FLOPs of one layer, softmax and norms too; back they are estimated as twice as many."""
    rows = as_run(count_operations(config, tokens, itemsize=1))
    rows = rows[rows["operation"] != "unembed"]
    forward = int((rows["flops"] * rows["times"]).sum())
    return forward * (1 + FLOPS_BACK) if is_backward else forward


@dataclass(frozen=True)
class Sweep:
    """One line of measurements: a layer, what doubles, in which direction, where."""

    config: ModelConfig
    tokens: Tokens
    what: Swept
    is_backward: bool
    place: Place
    seed: int

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes that are legal, ascending."""
        return tuple(sorted(_cases(self)))

    def flops(self, size: int) -> int:
        """FLOPs of the layer at a size, by formula."""
        return layer_flops(*_cases(self)[size], is_backward=self.is_backward)


@lru_cache(maxsize=32)
def _cases(sweep: Sweep) -> dict[int, Case]:
    return swept(sweep.config, sweep.tokens, sweep.what)


@dataclass(frozen=True)
class Point:
    """One size: measured, or else the bytes or the seconds that are too many."""

    size: int
    time: PassTime | None = None
    n_bytes: int = 0
    seconds: float = 0.0


def measure_point(sweep: Sweep, size: int, before: Sequence[Point], budget: int) -> Point:
    """Measure a layer; not where it needs more than `budget` bytes, or would take too long."""
    config, tokens = _cases(sweep)[size]
    dtype = sweep.place.torch_dtype
    n_bytes = estimate_memory(config, batch=tokens.batch, seq_len=tokens.n, dtype=dtype).total
    if n_bytes > budget:
        return Point(size, n_bytes=n_bytes)
    seconds = _predicted(sweep, size, before)
    if seconds > LONGEST_PASS:
        return Point(size, seconds=seconds)
    where: dict[str, Any] = {"device": sweep.place.device, "dtype": dtype, "seed": sweep.seed}
    return Point(size, measure_layer(config, tokens, **where, is_backward=sweep.is_backward))


def _predicted(sweep: Sweep, size: int, before: Sequence[Point]) -> float:
    """Seconds where time grows as it last did, with a margin, and no faster than FLOPs.

    0 where fewer than two smaller sizes say nothing of it.
    """
    if len(before) < 2:
        return 0.0
    smaller, last = (each.time.times.fast if each.time else each.seconds for each in before[-2:])
    growth = MARGIN * max(1.0, last / smaller)
    return last * min(growth, sweep.flops(size) / sweep.flops(before[-1].size))
