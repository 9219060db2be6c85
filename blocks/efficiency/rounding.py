"""Rounding that looks at what a matrix is multiplied with: GPTQ and AWQ."""

from collections.abc import Iterator
from enum import StrEnum

import torch
from torch import Tensor

from blocks.efficiency.calibration import Inputs
from blocks.efficiency.quantization import (
    Granularity,
    Quantization,
    grid_of,
    in_half_precision,
    quantize,
)
from blocks.weights.quantized import Grid, QuantizedMatrix

DAMPING, BLOCK = 0.01, 128
EXPONENTS = tuple(step / 20 for step in range(21))


class Rounding(StrEnum):
    """How a number finds its point of the grid."""

    NEAREST = "nearest"
    GPTQ = "gptq"
    AWQ = "awq"


def rounded(
    weight: Tensor, how: Quantization, rounding: Rounding, inputs: Inputs | None
) -> QuantizedMatrix:
    """A matrix (out, in) on its grid; where nothing was calibrated, to the nearest point."""
    if inputs is None or rounding is Rounding.NEAREST:
        return quantize(weight, how)
    return gptq(weight, how, inputs) if rounding is Rounding.GPTQ else awq(weight, how, inputs)


def gptq(weight: Tensor, how: Quantization, inputs: Inputs) -> QuantizedMatrix:
    """Round column by column; the columns to come make up for each error.

    Frantar et al. 2022, algorithm 1, in order of the columns: with H = XᵀX and U the upper
    Cholesky factor of H⁻¹, rounding column i takes e = (w_i − ŵ_i) / U_ii, and each later column
    j becomes w_j − e · U_ij: those of the same block at once, the others when it ends, which groups
    do not cross. A group's grid is laid when its first column is reached.
    """
    left = weight.float().clone()
    width = how.in_blocks(left).shape[2]
    n_block = BLOCK if width == left.shape[1] else max(width, BLOCK - BLOCK % width)
    codes, grids = zip(*_by_column(left, how, inputs, n_block), strict=True)
    laid = [grid for grid in grids if grid is not None]
    grid = Grid(*(torch.cat(parts, dim=1) for parts in zip(*laid, strict=True)))
    blocks = how.in_blocks(torch.stack(codes, dim=1)).to(torch.uint8)
    return QuantizedMatrix(blocks, grid, how.n_bits)


def gptq_so_far(weight: Tensor, how: Quantization, inputs: Inputs) -> Iterator[Tensor]:
    """The matrix (out, in) after each column: rounded up to it, what is to come made up for it.

    It is one tensor that changes: look at it before the next.
    """
    left = weight.float().clone()
    for _codes, _grid in _by_column(left, how, inputs, left.shape[1]):
        yield left


def _by_column(
    left: Tensor, how: Quantization, inputs: Inputs, n_block: int
) -> Iterator[tuple[Tensor, Grid | None]]:
    """The codes (out) of each column in turn, with its grid where one begins; changes `left`.

    Columns beyond the block that a column stands in are made up for when the block ends.
    """
    factor, n = _inverse_factor(inputs.gram), left.shape[1]
    width = how.in_blocks(left).shape[2]
    grid = _grid_from(left, 0, width, how)
    for start in range(0, n, n_block):
        end = min(start + n_block, n)
        errors = torch.empty(len(left), end - start)
        for i in range(start, end):
            is_first = i % width == 0
            grid = _grid_from(left, i, width, how) if is_first else grid
            codes = grid.codes(left[:, i, None, None], how.n_bits).flatten()
            values = _values(grid, codes)
            error = errors[:, i - start] = (left[:, i] - values) / factor[i, i]
            left[:, i] = values
            left[:, i + 1 : end] -= error[:, None] * factor[i, i + 1 : end]
            yield codes, grid if is_first else None
        left[:, end:] -= errors @ factor[start:end, end:]


def _grid_from(left: Tensor, first: int, width: int, how: Quantization) -> Grid:
    is_whole = how.granularity is Granularity.TENSOR
    columns = left if is_whole else left[:, first : first + width]
    return in_half_precision(grid_of(columns[:, None], how))


def _values(grid: Grid, codes: Tensor) -> Tensor:
    return grid.values(codes[:, None, None]).flatten()


def _inverse_factor(gram: Tensor) -> Tensor:
    """U, upper triangular, with UᵀU = H⁻¹; inputs that never spoke are given a little weight."""
    hessian = gram.double()
    mean = hessian.diagonal().mean().clamp(min=1e-12)
    hessian = hessian + DAMPING * mean * torch.eye(len(hessian), dtype=torch.float64)
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(hessian))
    return torch.linalg.cholesky(inverse, upper=True).float()


def awq(weight: Tensor, how: Quantization, inputs: Inputs) -> QuantizedMatrix:
    """Give the inputs that are large more room: round W · s, divide by s when it runs.

    Lin et al. 2023, section 3.2: s = (mean |x|)^α, with the α of 0, 0.05, …, 1 that is least wrong
    on the calibration text. At α = 0 it is rounding to nearest.
    """
    exact = weight.float()
    tried = (scaled(exact, how, inputs, exponent) for exponent in EXPONENTS)
    return min(tried, key=lambda matrix: float(inputs.squares(exact - matrix.values())))


def scaled(weight: Tensor, how: Quantization, inputs: Inputs, exponent: float) -> QuantizedMatrix:
    """W · s rounded to nearest, for one exponent of `awq`."""
    sizes = inputs.mean_size.clamp(min=1e-4).pow(exponent)
    scale = (sizes / (sizes.max() * sizes.min()).sqrt()).half().float()
    plain = quantize(weight * scale, how)
    return QuantizedMatrix(plain.codes, plain.grid, plain.n_bits, scale if exponent else None)
