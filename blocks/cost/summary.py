"""A configuration in the numbers by which one is chosen; exact, nothing is built."""

from dataclasses import dataclass

from blocks.cost.fit import cache_bytes_per_token, inference_need
from blocks.cost.fit import n_parameters as count_all
from blocks.cost.parameters import active_parameters
from blocks.cost.passes import PassKind, operations, reading_pass, total_flops
from blocks.cost.setup import Setup, StoredWeights, WeightFormat
from blocks.cost.training_cost import compute_optimal_tokens, training_cost
from blocks.model.config import ModelConfig


@dataclass(frozen=True)
class Summary:
    """What a model is and costs; 0 where it has no such thing, as an encoder no cache.

    `read_flops`: of one token of a text of n that is read; `decode_flops`: of one token written
    after n, itself among them; `memory`: bytes of weights, cache and what passes while one text
    of n is read; `training_flops`: of twenty tokens for each active parameter.
    """

    parameters: int
    active_parameters: int
    read_flops: float
    decode_flops: int
    weight_bytes: int
    cache_bytes: int
    memory: int
    training_flops: int
    d_model: int
    n_layers: int


def summarise(
    config: ModelConfig, *, n: int, dtype: str, stored: StoredWeights | None = None
) -> Summary:
    """Count all of it for texts of n tokens, weights and what passes in the number format `dtype`.

    Weights that are `stored` take what their file has of them. In float64 everything takes twice
    the bytes of float32.
    """
    is_double = dtype not in list(WeightFormat)
    kind = WeightFormat.FLOAT32 if is_double else WeightFormat(dtype)
    setup = Setup(weight_format=kind, stored=stored)
    times = 2 if is_double else 1
    writes = config.architecture.generates
    need = inference_need(config, setup, batch=1, n=n)
    return Summary(
        parameters=count_all(config),
        active_parameters=active_parameters(config),
        read_flops=total_flops(operations(config, reading_pass(config), n=n)) / n,
        decode_flops=total_flops(operations(config, PassKind.DECODE, n=n)) if writes else 0,
        weight_bytes=times * need.weights,
        cache_bytes=times * cache_bytes_per_token(config, setup.itemsize),
        memory=times * need.total,
        training_flops=training_cost(config, compute_optimal_tokens(config), n=n).exact,
        d_model=config.d_model,
        n_layers=config.n_layers + config.n_decoder_layers,
    )
