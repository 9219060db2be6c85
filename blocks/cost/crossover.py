"""Where attention between tokens overtakes the products with weights: O(n²·d) against O(n·d²)."""

from collections.abc import Iterable

import pandas as pd

from blocks.cost.flops import Pass, pass_sizes, products
from blocks.cost.parameters import Part
from blocks.model.config import ModelConfig

PAIRS = ("scores", "values")


def layer_parts(config: ModelConfig) -> tuple[list[Part], list[Part]]:
    """Products of one layer with its weights, and those of all pairs of tokens."""
    layer = [
        Part(part.name, part.group, tuple(each[1:] for each in part.products))  # without n_layers
        for part in products(config, Pass(0, 0))
    ]
    is_pair = [part.name in PAIRS for part in layer]
    weights = [part for part, pair in zip(layer, is_pair, strict=True) if not pair]
    return weights, [part for part, pair in zip(layer, is_pair, strict=True) if pair]


def layer_flops(config: ModelConfig, n: int) -> tuple[int, int]:
    """FLOPs forward of one layer on n tokens: with weights, and between tokens."""
    sizes = pass_sizes(config, Pass(n, n))
    weights, pairs = layer_parts(config)
    return sum(part.count(sizes) for part in weights), sum(part.count(sizes) for part in pairs)


def crossover(config: ModelConfig) -> float:
    """The length at which both cost the same, in tokens.

    n* = (2·n_heads·d_head·d_model + 2·n_kv_heads·d_head·d_model + k·d_model·d_ff) /
    (2·n_heads·d_head), with k = 2, or 3 for a gated feed-forward layer: 6·d_model where
    n_kv_heads = n_heads, n_heads·d_head = d_model and d_ff = 4·d_model.
    """
    weights, pairs = layer_flops(config, 1)  # a token: the first is the same for each of n
    return weights / pairs


def growth(config: ModelConfig, lengths: Iterable[int]) -> pd.DataFrame:
    """Of one layer at each length: n, weights, pairs (FLOPs forward, beyond 64 bits too)."""
    rows = [(n, *map(float, layer_flops(config, n))) for n in lengths]
    return pd.DataFrame(rows, columns=["n", "weights", "pairs"])
