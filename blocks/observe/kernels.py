"""Moments of stages by two kernels of our own, which read each value twice, where it lies.

Written in Triton, where that is installed, which torch brings for CUDA alone. Equal to
`flow.of_rows`, which stays what they are measured by.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from blocks.model.triton import jit, next_power_of_2, tl
from blocks.observe.flow import STAGES_OF_A_LAUNCH

BLOCKS = (4096, 4), (16384, 16)  # values that one program reads, and its warps: for few, for many
MANY = 2**20
LEAST_BLOCKS = 256  # that merging is compiled for
NUMBERS = ("first", "size", "width", "seq_len", "n_blocks")  # one kernel for whatever they are


def moments_of_each(stages: Sequence[Tensor], seq_len: int, width: int, n_text: Tensor) -> Tensor:
    """Moments of each stage, (batch · seq_len · width,): (n_stages, 6).

    Positions from `n_text` on, a number that the device knows, are not counted.
    """
    n_stages, size = len(stages), stages[0].numel()
    block, n_warps = BLOCKS[size > MANY]
    n_blocks = -(-size // block)
    parts = stages[0].new_empty(n_stages, n_blocks, 5, dtype=torch.float32)
    found = stages[0].new_empty(n_stages, 6, dtype=torch.float32)
    of = parts, found, n_text, size, width, seq_len, n_blocks, block
    for first in range(0, n_stages, STAGES_OF_A_LAUNCH):
        some = list(stages[first : first + STAGES_OF_A_LAUNCH])
        every = [*some, *some[-1:] * (STAGES_OF_A_LAUNCH - len(some))]  # the last ones again
        programs, most = (len(some), n_blocks), max(LEAST_BLOCKS, next_power_of_2(n_blocks))
        _sum_up[programs](*every, first, *of, num_warps=n_warps)
        _merge[programs](*every, first, *of, most, num_warps=n_warps)
    return found


@jit
def _one_of(x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15):
    """Where the stage of this program lies."""
    i, x = tl.program_id(0), x0
    x = tl.where(i == 1, x1, tl.where(i == 2, x2, tl.where(i == 3, x3, x)))
    x = tl.where(i == 4, x4, tl.where(i == 5, x5, tl.where(i == 6, x6, x)))
    x = tl.where(i == 7, x7, tl.where(i == 8, x8, tl.where(i == 9, x9, x)))
    x = tl.where(i == 10, x10, tl.where(i == 11, x11, tl.where(i == 12, x12, x)))
    return tl.where(i == 13, x13, tl.where(i == 14, x14, tl.where(i == 15, x15, x)))


@jit
def _values(x, n_text, size, width, seq_len, block: tl.constexpr):
    place = tl.program_id(1).to(tl.int64) * block + tl.arange(0, block)
    counts = (place < size) & (place // width % seq_len < tl.load(n_text))
    return tl.load(x + place, mask=counts, other=0.0).to(tl.float32), counts


@jit(do_not_specialize=NUMBERS)
def _sum_up(
    x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15,
    first, parts, found, n_text, size, width, seq_len, n_blocks, block: tl.constexpr,
):  # fmt: skip
    x = _one_of(x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15)
    values, counts = _values(x, n_text, size, width, seq_len, block)
    n = tl.sum(counts.to(tl.float32))
    mean = tl.sum(values) / tl.maximum(n, 1.0)
    apart = tl.where(counts, values - mean, 0.0)
    stage = first + tl.program_id(0)
    part = parts + (stage * n_blocks + tl.program_id(1)) * 5
    tl.store(part, n)
    tl.store(part + 1, mean)
    tl.store(part + 2, tl.sum(apart * apart))
    tl.store(part + 3, tl.min(tl.where(counts, values, float("inf"))))
    tl.store(part + 4, tl.max(tl.where(counts, values, float("-inf"))))
    tl.store(found + stage * 6 + 5, 0.0)  # to which all programs of the next kernel add


@jit(do_not_specialize=NUMBERS)
def _merge(
    x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15,
    first, parts, found, n_text, size, width, seq_len, n_blocks, block: tl.constexpr,
    most_blocks: tl.constexpr,
):  # fmt: skip
    """Every program merges all parts of its stage (Chan et al. 1979), and counts its outliers."""
    stage, blocks = first + tl.program_id(0), tl.arange(0, most_blocks)
    there, part = blocks < n_blocks, parts + (stage * n_blocks + blocks) * 5
    n, means = tl.load(part, there, 0.0), tl.load(part + 1, there, 0.0)
    total = tl.sum(n)
    mean = tl.sum(n * means) / total
    between = tl.sum(n * (means - mean) * (means - mean))
    var = (tl.sum(tl.load(part + 2, there, 0.0)) + between) / total
    row = found + stage * 6
    if tl.program_id(1) == 0:
        tl.store(row, mean)
        tl.store(row + 1, tl.sqrt(var))
        tl.store(row + 2, tl.min(tl.load(part + 3, there, float("inf"))))
        tl.store(row + 3, tl.max(tl.load(part + 4, there, float("-inf"))))
        tl.store(row + 4, tl.sqrt(mean * mean + var))
    x = _one_of(x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15)
    values, counts = _values(x, n_text, size, width, seq_len, block)
    is_far = counts & (tl.abs(values - mean) > 3 * tl.sqrt(var))
    tl.atomic_add(row + 5, tl.sum(is_far.to(tl.float32)) / total)
