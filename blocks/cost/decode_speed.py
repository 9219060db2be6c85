"""How fast a device can write at best: what it must read and compute for each new token.

Pope et al. 2022, "Efficiently Scaling Transformer Inference" (arXiv:2211.05102), section 2.
"""

from blocks.cost.fit import Setup, WeightFormat, cache_bytes
from blocks.cost.flops import Pass, count_flops
from blocks.cost.hardware import HARDWARE
from blocks.cost.parameters import active_parameters, count_parameters
from blocks.cost.step import Shape
from blocks.model.config import ModelConfig
from blocks.model.kinds import Architecture

TABLES = ("embed", "position")


def best_tokens_per_second(
    config: ModelConfig, setup: Setup, shape: Shape, device: str
) -> float | None:
    """New tokens of all texts of a batch in a second, where nothing but the data sheet limits it.

    Weights are read once a step, each text's cache too; reading and computing overlap. None for
    what does not write alone, and where the sheet has no such number format.
    """
    known = HARDWARE.get(device)
    dtype = setup.weight_format
    if dtype in (WeightFormat.INT8, WeightFormat.INT4):
        dtype = WeightFormat.BFLOAT16
    peak = None if known is None else known.peak.get(dtype)
    if known is None or peak is None or config.architecture is not Architecture.GPT:
        return None
    flops = int(count_flops(config, Pass(1, shape.n, 1))["flops"].sum()) * shape.batch
    seconds = max(bytes_per_step(config, setup, shape) / known.bandwidth, flops / peak)
    return shape.batch / seconds


def bytes_per_step(config: ModelConfig, setup: Setup, shape: Shape) -> int:
    """Bytes that are read for one more token of each text: active weights, and the cache.

    Of a table that is looked up in, next to nothing is read; where it scores the vocabulary too
    (tied), all of it. Several texts may need more experts than one: at best they need the same.
    """
    n_weights = active_parameters(config) - _looked_up(config)
    cache = cache_bytes(config, setup.itemsize, batch=shape.batch, n=shape.n)
    return setup.weight_format.bytes_of(n_weights) + cache


def _looked_up(config: ModelConfig) -> int:
    table = count_parameters(config)
    names = [name for name in TABLES if not (name == "embed" and config.vocabulary.tie_embeddings)]
    return int(table["count"][table["part"].isin(names)].sum())
