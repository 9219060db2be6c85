"""One size of a layer doubles, all others stay: what time and memory do, and what FLOPs say."""

from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum

import torch

from blocks.cost.memory import memory_fault
from blocks.cost.operations import Tokens
from blocks.cost.roofline import as_run, count_operations
from blocks.model.config import ModelConfig
from blocks.model.faults import ConfigError, Fault
from blocks.model.kinds import Architecture

LONGEST_PASS = 0.6
DOUBLINGS = range(-4, 5)
FLOPS_BACK = 2
"""A pass back has two products for each one forward: to the input, and to the weights."""


class Swept(StrEnum):
    """What doubles."""

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


def layer_fault(
    config: ModelConfig, tokens: Tokens, *, dtype: torch.dtype, budget: int
) -> Fault | None:
    """What forbids it, where it does not fit into `budget` bytes."""
    shape = {"batch": tokens.batch, "seq_len": tokens.n}
    return memory_fault(config, **shape, dtype=dtype, budget=budget)
