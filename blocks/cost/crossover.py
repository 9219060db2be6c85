"""Where attention between tokens overtakes the products with weights: O(n²·d) against O(n·d²)."""

from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd

from blocks.cost.flops import Pass, pass_sizes, products
from blocks.cost.parameters import Part
from blocks.model.config import ModelConfig

PAIRS = ("scores", "values")


@dataclass(frozen=True, eq=False)
class CrossoverFacts:
    """Where both cost the same (`at`, in tokens), and how a layer's FLOPs grow around it.

    `formula`: the length in letters and in numbers; `growth`: n, weights, pairs, the reader's n
    among them. `n_local` of the `n_layers` see no more than `window` tokens: they are asked about
    as if they saw all.
    """

    n: int
    at: float
    d_model: int
    pairs_share: float
    is_causal: bool
    formula: str
    growth: pd.DataFrame
    n_local: int = 0
    n_layers: int = 1
    window: int = 0

    @property
    def of_width(self) -> float:
        """The length at which both cost the same, in multiples of d_model."""
        return self.at / self.d_model

    @property
    def at_unmasked(self) -> float:
        """The same where a kernel skips the half of the pairs that is masked."""
        return 2 * self.at


def crossover_facts(config: ModelConfig, n: int) -> CrossoverFacts:
    """Compare one layer's products with weights with those between tokens."""
    at, (weights, pairs) = crossover(config), layer_flops(config, n)
    most = max(4 * n, 4 * at, 1024)
    return CrossoverFacts(
        n=n,
        at=at,
        d_model=config.d_model,
        pairs_share=pairs / (weights + pairs),
        is_causal=config.architecture.generates,
        formula=crossover_formula(config),
        growth=growth(config, sorted({n, *(2**i for i in range(4, 40) if 2**i <= most)})),
        n_local=config.n_local(config.n_layers),
        n_layers=config.n_layers,
        window=config.local_window,
    )


def crossover_formula(config: ModelConfig) -> str:
    """Write the length at which both are equal in letters and in numbers."""
    sizes = pass_sizes(config, Pass(1, 1))
    halves = layer_parts(config)
    above, below = (" + ".join(_per_token(part.formula()) for part in parts) for parts in halves)
    weights, pairs = (sum(part.count(sizes) for part in parts) for parts in halves)
    return f"n* = ({above}) / ({below}) = {weights:,} / {pairs:,} = {crossover(config):,.1f}"


def _per_token(formula: str) -> str:
    return formula.replace(" · n_new", "").replace(" · n_keys", "")


def layer_parts(config: ModelConfig) -> tuple[list[Part], list[Part]]:
    """Products of one layer with its weights, and those of all pairs of tokens.

    Of a mixture it is a layer with experts, of a hybrid one that attends, and it sees all tokens.
    """
    if config.is_hybrid:
        config = config.like(config.attention_layers[0])
    config = config.replace(local_window=0)
    layer = [
        Part(part.name, part.group, tuple(each[1:] for each in part.products))  # without n_layers
        for part in products(config, Pass(0, 0))
        if part.layers != "n_dense_layers"
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
    """Return n, weights, pairs of one layer at each length (FLOPs forward, beyond 64 bits too)."""
    rows = [(n, *map(float, layer_flops(config, n))) for n in lengths]
    return pd.DataFrame(rows, columns=["n", "weights", "pairs"])
