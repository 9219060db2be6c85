"""What it takes to make and measure smaller versions of a model: memory, and about how long."""

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

import torch

from blocks.cost.parameters import total_parameters
from blocks.cost.timing import measure_times
from blocks.efficiency.compression import Calibrated, Compression, matrix_names
from blocks.efficiency.rounding import Rounding
from blocks.model.config import ModelConfig
from blocks.model.models import build
from blocks.weights.rounded_inputs import linear_weights

FLOAT, COPIES = 4, 4
"""Bytes of a number, and how often weights are held at most while a variant is made (measured)."""
WORK = {Rounding.NEAREST: 1_500, Rounding.GPTQ: 36_000, Rounding.AWQ: 45_000}
BUILDING = 3_000
"""To round one weight, and to copy, lay out and store it, in FLOPs of a product that takes as long.

All measured on a processor that does 85 GFLOPs a second.
"""


@lru_cache(maxsize=64)
def calibrated_bytes(config: ModelConfig) -> int:
    """Memory that a model takes with what its matrices read, in float32: weights and XᵀX."""
    meta = build(config, device="meta")
    widths = (meta.get_parameter(name).shape[1] for name in linear_weights(meta))
    return FLOAT * (total_parameters(config) + sum(width**2 for width in widths))


def variant_bytes(config: ModelConfig) -> int:
    """Memory at most while a variant is made and measured, what it was made of included."""
    return calibrated_bytes(config) + COPIES * FLOAT * total_parameters(config)


def pass_flops(model: Calibrated) -> int:
    """FLOPs of all that is asked, once: two for each weight and token."""
    n_tokens = sum(batch.n_tokens for batch in model.examiner.batches)
    return 2 * total_parameters(model.file.config) * n_tokens


def variant_flops(model: Calibrated, recipes: Iterable[Compression]) -> int:
    """FLOPs that take about as long as making variants and measuring them, one after the other.

    Each is asked once and timed on two batches more; what looks at the text calibrates first.
    """
    each_pass, n = pass_flops(model), total_parameters(model.file.config)
    n_matrices = len(matrix_names(model.file.config, model.file.tensors))
    n_flops = 0
    for how in recipes:
        n_flops += 3 * each_pass + n * (BUILDING + (WORK[how.rounding] if how.quantization else 0))
        n_flops += 2 * each_pass if how.needs_calibration else 0
        n_flops += n_matrices * each_pass if how.kept_share else 0
    return n_flops


def trace_flops(model: Calibrated, kept: Compression) -> int:
    """The same of tracing a loss to its matrices, each rounded alone, and of what is made then."""
    whole, plain = Compression(), replace(kept, kept_share=0.0)
    n_matrices = len(matrix_names(model.file.config, model.file.tensors))
    return n_matrices * pass_flops(model) + variant_flops(model, (whole, plain, kept, plain))


def flops_per_second() -> float:
    """How fast products of matrices are here and now."""
    x = torch.ones(512, 512)
    return 2 * 512**3 / measure_times(lambda: x @ x, "cpu", longest=0.1).median
