"""Real configurations of a wanted size: widths that devices like, heads of 64 or 128, few odd."""

import math
from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache

from blocks.cost.fit import n_parameters
from blocks.cost.parameters import count_parameters
from blocks.cost.scaling_laws import Counted
from blocks.cost.training_cost import training_cost
from blocks.model.config import ModelConfig
from blocks.model.legal import divisors
from blocks.model.options import LARGEST_SIZE
from blocks.model.presets import PRESETS

BASE = "tinyllama-1.1b"  # pre-norm RMSNorm, SwiGLU, RoPE, no biases
ASPECT = 100  # d_model / n_layers: 102 in Chinchilla, 128 in GPT-3 and LLaMA
ASPECTS = 8, 160  # that are looked at
# From 512 in steps of two heads, from 2,048 of four, from 8,192 of eight; small ones are finer.
WIDTHS = (
    *range(32, 512, 32),
    *range(512, 2048, 128),
    *range(2048, 8192, 512),
    *range(8192, 1 << 16, 1024),
)
NEAR = 0.02  # of the wanted size
QUERIES_A_HEAD = 4  # of queries that share keys and values in GQA
TABLES = ("embed", "unembed", "position")


class AttentionShape(StrEnum):
    """How heads keep keys and values: each its own, four share, or all make them of a latent."""

    MHA = "mha"
    GQA = "gqa"
    MLA = "mla"


@lru_cache(maxsize=1024)
def size_of(config: ModelConfig, counted: Counted, n: int) -> float:
    """The size of a model as a law counts it; `n`: tokens of a text, for what attention takes."""
    if counted is Counted.ALL:
        return n_parameters(config)
    if counted is Counted.INNER:
        table = count_parameters(config)
        return n_parameters(config) - int(table["count"][table["part"].isin(TABLES)].sum())
    exact = training_cost(config, n, n=n).exact / n
    return exact - 6 * config.vocab_size * config.d_model


def shape(
    d_model: int, n_layers: int, kind: AttentionShape, vocab_size: int, n: int
) -> ModelConfig:
    """A GPT of this width and depth; Llama-style, one table for input and output."""
    step = 128 if d_model >= 512 else 32
    d_head = 128 if d_model >= 2048 else 64 if d_model % 64 == 0 else 32
    n_heads = d_model // d_head
    heads = {
        AttentionShape.MHA: {},
        AttentionShape.GQA: {"n_kv_heads": _grouped(n_heads)},
        # DeepSeek-AI 2024 (V2), section 2.1.4: four and half a head wide
        AttentionShape.MLA: {"d_kv_latent": 4 * d_head, "d_rotary": d_head // 2, "d_head": d_head},
    }[kind]
    return PRESETS[BASE].replace(
        **{"n_kv_heads": None, **heads},
        d_model=d_model,
        n_layers=n_layers,
        n_heads=n_heads,
        d_ff=step * math.ceil(8 * d_model / 3 / step),
        vocab_size=vocab_size,
        max_seq_len=min(n, LARGEST_SIZE),
        tie_embeddings=True,
    )


def _grouped(n_heads: int) -> int:
    return max(k for k in divisors(n_heads) if k == 1 or n_heads // k >= QUERIES_A_HEAD)


def chosen_shape(
    size: float, counted: Counted, kind: AttentionShape, vocab_size: int, n: int
) -> ModelConfig:
    """The model nearest to this size; of those within 2 % of it the one of the usual aspect.

    Kaplan et al. 2020, figure 5: the loss hardly depends on the aspect at equal size.
    """

    def sized(config: ModelConfig) -> float:
        return size_of(config, counted, n)

    found = [
        (abs(sized(config) / size - 1), config)
        for d_model in _widths(size, counted, vocab_size)
        for config in [_deep_enough(d_model, size, sized, kind, vocab_size, n)]
    ]
    least = max(min(off for off, _config in found), NEAR)
    near = [config for off, config in found if off <= least]
    return min(near, key=lambda each: abs(math.log(each.d_model / each.n_layers / ASPECT)))


def _widths(size: float, counted: Counted, vocab_size: int) -> list[int]:
    """Widths whose depth could be usual: the layers have about 12 · n_layers · d_model².

    Where the table of tokens is most of a model, it is narrower than that.
    """
    n = size / 6 if counted is Counted.WORK else size
    least, most = ((n * aspect / 12) ** (1 / 3) for aspect in ASPECTS)
    if counted is Counted.ALL:
        least = min(least, n / (4 * vocab_size))
    return [each for each in WIDTHS if least <= each <= most] or [WIDTHS[0]]


def _deep_enough(
    d_model: int,
    size: float,
    sized: Callable[[ModelConfig], float],
    kind: AttentionShape,
    vocab_size: int,
    n: int,
) -> ModelConfig:
    """The depth that comes nearest: every layer adds as much as the second."""
    one, two = (sized(shape(d_model, depth, kind, vocab_size, n)) for depth in (1, 2))
    n_layers = min(max(1, round(1 + (size - one) / (two - one))), LARGEST_SIZE)
    return shape(d_model, n_layers, kind, vocab_size, n)
