"""Quantization of a matrix: which grid its numbers are rounded to (round to nearest).

With n bits a grid has 2ⁿ points, and one grid serves a whole matrix, a row, or a group of a row
(Nagel et al. 2021, "A White Paper on Neural Network Quantization", section 2).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import torch
from torch import Tensor

from blocks.weights.quantized import SMALLEST_SCALE, Grid, QuantizedMatrix, symmetric_grid

BITS = range(2, 9)
PERCENTILE = 0.995
SHRINKS = tuple(1 - step / 100 for step in range(0, 80, 2))
HQQ_STEPS, HQQ_NORM, HQQ_BETA, HQQ_GROWTH = 20, 0.7, 10.0, 1.01


class Granularity(StrEnum):
    """How many numbers share a grid."""

    TENSOR = "tensor"
    CHANNEL = "channel"
    GROUP = "group"


class RangeRule(StrEnum):
    """How far a grid reaches."""

    ABSMAX = "absmax"
    PERCENTILE = "percentile"
    LEAST_ERROR = "least_error"
    HQQ = "hqq"


@dataclass(frozen=True, kw_only=True)
class Quantization:
    """How matrices are rounded. `group_size` belongs to groups: numbers of a row side by side.

    A group that does not fill a row evenly takes their greatest common divisor.
    """

    n_bits: int = 8
    granularity: Granularity = Granularity.CHANNEL
    group_size: int = 32
    symmetric: bool = True
    range_rule: RangeRule = RangeRule.ABSMAX

    def in_blocks(self, weight: Tensor) -> Tensor:
        """The matrix (out, in) as (out, blocks, width), a block a group."""
        n_out, n_in = weight.shape
        is_grouped = self.granularity is Granularity.GROUP
        width = math.gcd(self.group_size, n_in) if is_grouped else n_in
        return weight.reshape(n_out, n_in // width, width)

    @property
    def shared(self) -> tuple[int, ...]:
        """The axes of a matrix in blocks along which numbers share a grid."""
        return (0, 1, 2) if self.granularity is Granularity.TENSOR else (2,)


def quantize(weight: Tensor, how: Quantization) -> QuantizedMatrix:
    """Round a matrix (out, in) to the nearest points of its grids."""
    blocks = how.in_blocks(weight.float())
    grid = in_half_precision(grid_of(blocks, how))
    return QuantizedMatrix(grid.codes(blocks, how.n_bits).to(torch.uint8), grid, how.n_bits)


def grid_of(blocks: Tensor, how: Quantization) -> Grid:
    """The grids of a matrix in blocks (out, blocks, width), before they are stored."""
    return GRIDS[how.range_rule](blocks, how)


def in_half_precision(grid: Grid) -> Grid:
    """The grid as a file keeps it."""
    return Grid(*(each.half().float() for each in grid))


def affine_grid(least: Tensor, most: Tensor, how: Quantization) -> Grid:
    """The grid from `least` to `most`, stretched so that 0 is one of its points."""
    least, most = least.clamp(max=0), most.clamp(min=0)
    if how.symmetric:
        return symmetric_grid(torch.maximum(-least, most), how.n_bits)
    n_steps = 2**how.n_bits - 1
    scale = ((most - least) / n_steps).clamp(min=SMALLEST_SCALE)
    return Grid(scale, (-torch.round(least / scale)).clamp(0, n_steps))


def _absmax(blocks: Tensor, how: Quantization) -> Grid:
    return affine_grid(*_ends(blocks, how), how)


def _ends(blocks: Tensor, how: Quantization) -> tuple[Tensor, Tensor]:
    return blocks.amin(how.shared, keepdim=True), blocks.amax(how.shared, keepdim=True)


def _percentile(blocks: Tensor, how: Quantization) -> Grid:
    """Cut off the outermost numbers on both sides: what lies beyond is clipped."""
    flat = blocks.reshape(1, 1, -1) if how.granularity is Granularity.TENSOR else blocks
    least, most = (quantile(flat, share) for share in (1 - PERCENTILE, PERCENTILE))
    return affine_grid(least, most, how)


def quantile(x: Tensor, share: float) -> Tensor:
    """The value below which a share of the last axis lies; torch's own refuses large inputs."""
    place = round(share * (x.shape[-1] - 1)) + 1
    return x.kthvalue(place, dim=-1, keepdim=True).values


def _least_error(blocks: Tensor, how: Quantization) -> Grid:
    """The reach, of forty, with the least squared error, for each grid by itself."""
    least, most = _ends(blocks, how)
    best = affine_grid(least, most, how)
    best_error = _squared_error(blocks, best, how)
    for shrink in SHRINKS[1:]:
        grid = affine_grid(shrink * least, shrink * most, how)
        error = _squared_error(blocks, grid, how)
        is_better = error < best_error
        best = Grid(
            *(torch.where(is_better, new, old) for new, old in zip(grid, best, strict=True))
        )
        best_error = torch.where(is_better, error, best_error)
    return best


def _squared_error(blocks: Tensor, grid: Grid, how: Quantization) -> Tensor:
    rounded = grid.values(grid.codes(blocks, how.n_bits))
    return (blocks - rounded).square().sum(how.shared, keepdim=True)


def _hqq(blocks: Tensor, how: Quantization) -> Grid:
    """Move the zero point so that the error is sparse, in half-quadratic steps.

    Badri and Shaji 2023, "Half-Quadratic Quantization": min over z of |W − W_q|ᵖ with p < 1; the
    error is shrunk by the generalized threshold, then the zero point has a closed form. A grid
    that must be symmetric has no zero point to move: it stays as it is.
    """
    grid = affine_grid(*_ends(blocks, how), how)
    if how.symmetric:
        return grid
    scale, zero_point, beta = *grid, HQQ_BETA
    best, best_error = grid, torch.inf
    for _ in range(HQQ_STEPS):
        codes = Grid(scale, zero_point).codes(blocks, how.n_bits)
        error = blocks - Grid(scale, zero_point).values(codes)
        size = float(error.abs().mean())
        if size >= best_error:
            break
        best, best_error = Grid(scale, zero_point), size
        sparse = _shrunk(error, beta)
        zero_point = (codes - (blocks - sparse) / scale).mean(how.shared, keepdim=True)
        beta *= HQQ_GROWTH
    return best


def _shrunk(error: Tensor, beta: float) -> Tensor:
    """The generalized soft threshold of the l_p norm, p < 1."""
    size = error.abs()
    threshold = size.clamp(min=1e-12).pow(HQQ_NORM - 1) / beta
    return error.sign() * (size - threshold).clamp(min=0)


GRIDS: dict[RangeRule, Callable[[Tensor, Quantization], Grid]] = {
    RangeRule.ABSMAX: _absmax,
    RangeRule.PERCENTILE: _percentile,
    RangeRule.LEAST_ERROR: _least_error,
    RangeRule.HQQ: _hqq,
}


def sqnr(exact: Tensor, rounded: Tensor) -> float:
    """Signal to quantization noise ratio, in decibels: 10 log₁₀ (Σ w² / Σ (w − ŵ)²).

    Infinite where nothing was lost.
    """
    noise = (exact - rounded).square().sum()
    return float(10 * torch.log10(exact.square().sum() / noise)) if noise else math.inf
