"""What it takes to train: the rule 6·N·D, the exact count beside it, and hours on devices."""

import math
from typing import NamedTuple

from blocks.cost.fit import n_parameters
from blocks.cost.parameters import active_parameters, count_parameters, idle_parameters
from blocks.cost.passes import PassKind, operations, total_flops
from blocks.model.config import ModelConfig
from blocks.model.kinds import Architecture

TOKENS_PER_PARAMETER = 20  # Hoffmann et al. 2022, table 3: 1.4 T tokens for 70 B parameters
FLOPS_PER_PARAMETER = 6  # Kaplan et al. 2020, section 2.1: 2 forward, 4 back
HOUR = 3600  # seconds
PAIRS = ("scores", "values", "state")
TABLES = ("embed", "source_embed", "position", "segment_embed")


class TrainingCost(NamedTuple):
    """FLOPs to learn from so many tokens.

    `rule` is 6·N·D; what is added to it, or taken off, gives `exact`: `tables` are looked up and
    not multiplied, `vectors` (biases, norms) are no products either, `idle` are the experts that a
    token does not pass, `pairs` is attention between tokens, or what is done with a
    state, which no parameter counts, `rest` is
    what one half of an encoder–decoder does not see of the other, or what the first layer of a
    block need not compute. `recomputed` is done a second time and in neither.
    """

    rule: int
    tables: int
    vectors: int
    idle: int
    pairs: int
    rest: int
    exact: int
    recomputed: int

    @property
    def done(self) -> int:
        """FLOPs that the devices compute."""
        return self.exact + self.recomputed


def compute_optimal_tokens(config: ModelConfig) -> int:
    """Twenty for each parameter (Hoffmann et al. 2022); of a mixture, each that a token meets."""
    return TOKENS_PER_PARAMETER * active_parameters(config)


def training_cost(
    config: ModelConfig, n_tokens: int, *, n: int, checkpointing: bool = False, fused: bool = False
) -> TrainingCost:
    """Learn from `n_tokens`, in texts of n tokens.

    Of an encoder–decoder the tokens of source and target count alike.
    """
    found = operations(config, PassKind.TRAINING, n=n, checkpointing=checkpointing, fused=fused)
    texts = 2 if config.architecture is Architecture.ENCODER_DECODER else 1

    def of_all(flops: int) -> int:
        return flops * n_tokens // (texts * n)

    recomputed = of_all(sum(each.recomputed for each in found))
    exact = of_all(total_flops(found)) - recomputed
    pairs = of_all(sum(each.forward + each.backward for each in found if each.name.endswith(PAIRS)))
    rule = FLOPS_PER_PARAMETER * n_parameters(config) * n_tokens
    less = {name: -FLOPS_PER_PARAMETER * n * n_tokens for name, n in _unused(config).items()}
    rest = exact - rule - pairs - sum(less.values())
    return TrainingCost(
        rule=rule, pairs=pairs, rest=rest, exact=exact, recomputed=recomputed, **less
    )


def _unused(config: ModelConfig) -> dict[str, int]:
    """Count the parameters that a token does not multiply: tables, vectors, idle experts."""
    table = count_parameters(config)
    name = table["part"].str.rpartition(".")[2]
    is_matrix = name.str.endswith("_proj") | name.isin(
        ["router", "shared_expert_gate", "unembed", "conv"]
    )
    is_table = name.isin(TABLES)
    tables = int(table["count"][is_table].sum())
    if config.architecture.reads_tokens and config.vocabulary.tie_embeddings:
        tables -= config.vocab_size * config.d_model  # read by rows, and multiplied at the end
    idle = idle_parameters(config)
    vectors = int(table["count"][~is_matrix & ~is_table].sum())
    return {"tables": tables, "vectors": vectors - _idle_biases(config, idle), "idle": idle}


def _idle_biases(config: ModelConfig, idle: int) -> int:
    """Biases of idle experts, which count as idle."""
    if not idle or not config.feed_forward.feed_forward_bias:
        return 0
    n_wide = 2 if config.feed_forward.activation.is_gated else 1
    n_layers = config.n_expert_layers + config.n_mtp_modules
    n_idle = n_layers * (config.n_experts - config.n_active_experts)
    return n_idle * (n_wide * config.d_expert + config.d_model)


def device_seconds(flops: float, peak: float, utilisation: float) -> float:
    """Seconds on one device that reaches this share of its peak FLOP/s."""
    return flops / (peak * utilisation)


def fewest_devices(n_bytes: int, memory: int) -> int:
    """Devices among which the bytes must be shared, evenly (Rajbhandari et al. 2020, ZeRO-3)."""
    return max(1, math.ceil(n_bytes / memory))
