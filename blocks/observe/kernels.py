"""Moments of stages by three kernels of our own, which read each value twice.

Written in Triton, where that is installed, which torch brings for CUDA alone. Equal to
`flow.of_rows`, which stays what they are measured by.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from blocks.model.triton import jit, next_power_of_2, tl

BLOCK = 4096  # values that one program reads
TOGETHER = 8  # stages that one launch reads where they lie


def moments_of_each(stages: Sequence[Tensor], seq_len: int, width: int, n_text: Tensor) -> Tensor:
    """Moments of each stage, (batch · seq_len · width,): (n_stages, 6).

    Positions from `n_text` on, a number that the device knows, are not counted.
    """
    n_stages, size = len(stages), stages[0].numel()
    n_blocks = -(-size // BLOCK)
    like = {"device": stages[0].device, "dtype": torch.float32}
    parts, found = torch.empty(n_stages, n_blocks, 5, **like), torch.empty(n_stages, 6, **like)
    of = n_text, size, width, seq_len, BLOCK
    some = [slice(first, first + TOGETHER) for first in range(0, n_stages, TOGETHER)]
    for each in some:
        _sum_up[_grid(stages[each], n_blocks)](*_eight(stages[each]), parts[each], *of)
    _merge[(n_stages,)](parts, found, n_blocks, next_power_of_2(n_blocks))
    for each in some:
        _count_outliers[_grid(stages[each], n_blocks)](*_eight(stages[each]), found[each], *of)
    return found


def _grid(stages: Sequence[Tensor], n_blocks: int) -> tuple[int, int]:
    return len(stages), n_blocks


def _eight(stages: Sequence[Tensor]) -> list[Tensor]:
    """As many as a launch takes; the last ones again, which nobody reads."""
    return [*stages, *stages[-1:] * (TOGETHER - len(stages))]


@jit
def _one_of(x0, x1, x2, x3, x4, x5, x6, x7):
    """Where the stage of this program lies."""
    i, x = tl.program_id(0), x0
    x = tl.where(i == 1, x1, x)
    x = tl.where(i == 2, x2, x)
    x = tl.where(i == 3, x3, x)
    x = tl.where(i == 4, x4, x)
    x = tl.where(i == 5, x5, x)
    x = tl.where(i == 6, x6, x)
    return tl.where(i == 7, x7, x)


@jit
def _values(x, n_text, size, width, seq_len, block: tl.constexpr):
    place = tl.program_id(1).to(tl.int64) * block + tl.arange(0, block)
    counts = (place < size) & (place // width % seq_len < tl.load(n_text))
    return tl.load(x + place, mask=counts, other=0.0).to(tl.float32), counts


@jit
def _sum_up(
    x0, x1, x2, x3, x4, x5, x6, x7, parts, n_text, size, width, seq_len, block: tl.constexpr
):  # fmt: skip
    x = _one_of(x0, x1, x2, x3, x4, x5, x6, x7)
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
def _count_outliers(
    x0, x1, x2, x3, x4, x5, x6, x7, found, n_text, size, width, seq_len, block: tl.constexpr
):  # fmt: skip
    x = _one_of(x0, x1, x2, x3, x4, x5, x6, x7)
    values, counts = _values(x, n_text, size, width, seq_len, block)
    row = found + tl.program_id(0) * 6
    is_far = counts & (tl.abs(values - tl.load(row)) > 3 * tl.load(row + 1))
    n = tl.load(n_text) * (size // (seq_len * width) * width)
    tl.atomic_add(row + 5, tl.sum(is_far.to(tl.float32)) / n)
