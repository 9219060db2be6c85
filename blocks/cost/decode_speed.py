"""How fast a device can write at best: what it must read and compute for each new token.

Pope et al. 2022, "Efficiently Scaling Transformer Inference" (arXiv:2211.05102), section 2.
"""

from typing import NamedTuple

from blocks.cost.fit import Setup, WeightFormat, device_cache_bytes
from blocks.cost.hardware import HARDWARE
from blocks.cost.parameters import active_parameters, count_parameters
from blocks.cost.passes import PassKind
from blocks.cost.step import Shape, pass_total
from blocks.model.config import ModelConfig
from blocks.model.kinds import Architecture

TABLES = ("embed", "position")


class DecodeStep(NamedTuple):
    """One more token of each of `n_texts`: what a device reads and computes, in which format."""

    n_texts: int
    n_bytes: int
    flops: int
    dtype: str

    def tokens_per_second(self, device: str) -> float | None:
        """New tokens of all texts in a second, where nothing but the data sheet limits it.

        Reading and computing overlap, and what devices tell each other takes no time. None where
        the sheet has no peak of this number format. Raises `UnknownNameError` for a device that is
        not in `HARDWARE`.
        """
        known = HARDWARE[device]
        peak = known.peak.get(self.dtype)
        if peak is None:
            return None
        return self.n_texts / max(self.n_bytes / known.bandwidth, self.flops / peak)


def decode_step(config: ModelConfig, setup: Setup, shape: Shape) -> DecodeStep | None:
    """Weights are read once a step, each text's cache too. None for what does not write alone."""
    if config.architecture is not Architecture.GPT:
        return None
    return DecodeStep(
        n_texts=shape.batch,
        n_bytes=bytes_per_step(config, setup, shape),
        flops=setup.share(pass_total(config, PassKind.DECODE, shape).flops),
        dtype=WeightFormat.BFLOAT16 if setup.is_packed else setup.weight_format,
    )


def bytes_per_step(config: ModelConfig, setup: Setup, shape: Shape) -> int:
    """Bytes that each device reads for one more token of each text: active weights, the cache.

    Of a table that is looked up in, next to nothing is read; where it scores the vocabulary too
    (tied), all of it. Several texts may need more experts than one: at best they need the same.
    """
    n_weights = active_parameters(config) - looked_up(config)
    cache = device_cache_bytes(config, setup, batch=shape.batch, n=shape.n)
    return setup.share(setup.weight_bytes(n_weights)) + cache


def looked_up(config: ModelConfig) -> int:
    """Parameters of tables of which a pass reads the rows of its tokens alone."""
    table = count_parameters(config)
    names = [name for name in TABLES if not (name == "embed" and config.vocabulary.tie_embeddings)]
    return int(table["count"][table["part"].isin(names)].sum())
