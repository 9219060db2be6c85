"""Moments of stages by three kernels of our own, which read each value twice.

Written in Triton, where that is installed, which torch brings for CUDA alone. Equal to
`flow.of_rows`, which stays what they are measured by.
"""

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

try:
    import triton.language as tl
    from triton import jit, next_power_of_2
except ImportError:  # then nobody calls them
    tl = SimpleNamespace(constexpr=int)

    def jit(kernel: Any) -> Any:
        """Leave it as it is."""
        return kernel


BLOCK = 4096  # values that one program reads


def moments_of_each(x: Tensor, seq_len: int, width: int, n_text: Tensor) -> Tensor:
    """Moments of each row of `x`, (n_stages, batch · seq_len · width): (n_stages, 6).

    Positions from `n_text` on, a number that the device knows, are not counted.
    """
    n_stages, size = x.shape
    n_blocks = -(-size // BLOCK)
    parts = x.new_empty(n_stages, n_blocks, 5, dtype=torch.float32)
    found = x.new_empty(n_stages, 6, dtype=torch.float32)
    every, of = (n_stages, n_blocks), (n_text, size, width, seq_len, BLOCK)
    _sum_up[every](x, parts, *of)
    _merge[(n_stages,)](parts, found, n_blocks, next_power_of_2(n_blocks))
    _count_outliers[every](x, found, *of)
    found[:, 5] /= n_text * (size // seq_len)
    return found


@jit
def _values(x, n_text, size, width, seq_len, block: tl.constexpr):
    place = tl.program_id(1) * block + tl.arange(0, block)
    counts = (place < size) & (place // width % seq_len < tl.load(n_text))
    start = tl.program_id(0).to(tl.int64) * size
    return tl.load(x + start + place, mask=counts, other=0.0).to(tl.float32), counts


@jit
def _sum_up(x, parts, n_text, size, width, seq_len, block: tl.constexpr):
    values, counts = _values(x, n_text, size, width, seq_len, block)
    n = tl.sum(counts.to(tl.float32))
    mean = tl.sum(values) / tl.maximum(n, 1.0)
    apart = tl.where(counts, values - mean, 0.0)
    part = parts + (tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)) * 5
    tl.store(part, n)
    tl.store(part + 1, mean)
    tl.store(part + 2, tl.sum(apart * apart))
    tl.store(part + 3, tl.min(tl.where(counts, values, float("inf"))))
    tl.store(part + 4, tl.max(tl.where(counts, values, float("-inf"))))


@jit
def _merge(parts, found, n_blocks, most_blocks: tl.constexpr):  # Chan et al. 1979
    block = tl.arange(0, most_blocks)
    there, part = block < n_blocks, parts + (tl.program_id(0) * n_blocks + block) * 5
    n, means = tl.load(part, there, 0.0), tl.load(part + 1, there, 0.0)
    total = tl.sum(n)
    mean = tl.sum(n * means) / total
    between = tl.sum(n * (means - mean) * (means - mean))
    var = (tl.sum(tl.load(part + 2, there, 0.0)) + between) / total
    out = found + tl.program_id(0) * 6
    tl.store(out, mean)
    tl.store(out + 1, tl.sqrt(var))
    tl.store(out + 2, tl.min(tl.load(part + 3, there, float("inf"))))
    tl.store(out + 3, tl.max(tl.load(part + 4, there, float("-inf"))))
    tl.store(out + 4, tl.sqrt(mean * mean + var))
    tl.store(out + 5, 0.0)


@jit
def _count_outliers(x, found, n_text, size, width, seq_len, block: tl.constexpr):
    values, counts = _values(x, n_text, size, width, seq_len, block)
    row = found + tl.program_id(0) * 6
    is_far = counts & (tl.abs(values - tl.load(row)) > 3 * tl.load(row + 1))
    tl.atomic_add(row + 5, tl.sum(is_far.to(tl.float32)))
