"""Matrices as whole numbers on a grid, and how they lie in a file."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

CODES, SCALE, ZERO_POINT, INPUT_SCALE = "codes", "scale", "zero_point", "input_scale"
"""What a quantized matrix is called in a file, after its name and a dot."""
ROWS, KEPT_ROWS = "kept_rows", "kept_"
"""Of a matrix of two parts: which rows are kept, and what comes before the names of their parts."""

SMALLEST_SCALE = torch.finfo(torch.float32).eps  # a power of two that half precision holds


class Grid(NamedTuple):
    """A grid of whole numbers: value = (code − zero_point) · scale.

    `scale` and `zero_point` are float32 and (rows, blocks, 1), where rows and blocks are 1 for
    those that share one grid.
    """

    scale: Tensor
    zero_point: Tensor

    def codes(self, weight: Tensor, n_bits: int) -> Tensor:
        """The nearest whole number of 0 to 2ⁿ − 1: (rows, blocks, width), still float32."""
        whole = torch.round(self.zero_point)
        steps = torch.round(weight * (1.0 / self.scale) + (self.zero_point - whole))
        return (steps + whole).clamp(0, 2**n_bits - 1)

    def values(self, codes: Tensor) -> Tensor:
        """What the whole numbers stand for."""
        return (codes - self.zero_point) * self.scale


def symmetric_grid(reach: Tensor, n_bits: int) -> Grid:
    """The grid of 2ⁿ points that reaches to `reach` on both sides of 0."""
    scale = symmetric_scale(reach, n_bits)
    return Grid(scale, torch.full_like(scale, 2 ** (n_bits - 1)))


def symmetric_scale(reach: Tensor, n_bits: int) -> Tensor:
    """The distance of its points."""
    return (reach / ((2**n_bits - 1) / 2)).clamp(min=SMALLEST_SCALE)


@dataclass(frozen=True, eq=False)
class QuantizedMatrix:
    """A weight of shape (out, in) as codes of `n_bits` and their grid.

    `codes` is uint8 and (out, blocks, width). `input_scale` (in), where there is one, divides each
    column (Lin et al. 2023, AWQ). A grid that is symmetric about 0 needs no zero point in a file.
    """

    codes: Tensor
    grid: Grid
    n_bits: int
    input_scale: Tensor | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(out, in)."""
        return self.codes.shape[0], self.codes.shape[1] * self.codes.shape[2]

    def values(self) -> Tensor:
        """The matrix that runs, float32."""
        matrix = self.grid.values(self.codes.float()).reshape(self.shape)
        return matrix if self.input_scale is None else matrix / self.input_scale

    @property
    def is_symmetric(self) -> bool:
        """Whether 0 lies in the middle of every grid."""
        return bool((self.grid.zero_point == 2 ** (self.n_bits - 1)).all())

    def to_tensors(self) -> dict[str, Tensor]:
        """What a file holds: codes without a bit to spare, scales in half precision."""
        tensors = {CODES: pack(self.codes, self.n_bits), SCALE: self.grid.scale.half()}
        if not self.is_symmetric:
            tensors[ZERO_POINT] = self.grid.zero_point.half()
        if self.input_scale is not None:
            tensors[INPUT_SCALE] = self.input_scale.half()
        return tensors

    @classmethod
    def from_tensors(
        cls, tensors: Mapping[str, Tensor], shape: tuple[int, int], n_bits: int
    ) -> "QuantizedMatrix":
        """The inverse of `to_tensors`. Raises `ValueError` where the parts do not fit together."""
        scale = tensors[SCALE].float()
        middle = torch.full_like(scale, 2 ** (n_bits - 1))
        zero_point = tensors[ZERO_POINT].float() if ZERO_POINT in tensors else middle
        input_scale = tensors[INPUT_SCALE].float() if INPUT_SCALE in tensors else None
        _check_parts(scale, zero_point, input_scale, shape)
        codes = unpack(tensors[CODES], shape[0] * shape[1], n_bits)
        blocked = codes.reshape(shape[0], scale.shape[1], -1)
        return cls(blocked, Grid(scale, zero_point), n_bits, input_scale)

    @property
    def n_bytes(self) -> int:
        """Bytes in a file, its header left out."""
        return sum(tensor.nbytes for tensor in self.to_tensors().values())


@dataclass(frozen=True, eq=False)
class MixedMatrix:
    """A weight of shape (out, in) of which some rows have more bits than the others.

    `is_kept` (out) says which: they are the rows of `kept`, the others those of `rest`.
    """

    rest: QuantizedMatrix
    kept: QuantizedMatrix
    is_kept: Tensor

    @property
    def shape(self) -> tuple[int, int]:
        """(out, in)."""
        return len(self.is_kept), self.rest.shape[1]

    @property
    def n_bits(self) -> int:
        """The number of bits of most rows."""
        return self.rest.n_bits

    def values(self) -> Tensor:
        """The matrix that runs, float32."""
        matrix = torch.empty(self.shape)
        matrix[self.is_kept], matrix[~self.is_kept] = self.kept.values(), self.rest.values()
        return matrix

    def to_tensors(self) -> dict[str, Tensor]:
        """What a file holds: both parts, and a bit for each row."""
        kept = {KEPT_ROWS + name: tensor for name, tensor in self.kept.to_tensors().items()}
        rows = torch.from_numpy(np.packbits(self.is_kept.numpy()))
        return {**self.rest.to_tensors(), **kept, ROWS: rows}

    @classmethod
    def from_tensors(
        cls, tensors: Mapping[str, Tensor], shape: tuple[int, int], n_bits: int, kept_bits: int
    ) -> "MixedMatrix":
        """The inverse of `to_tensors`. Raises `ValueError` where the parts do not fit together."""
        if tensors[ROWS].dtype is not torch.uint8 or tensors[ROWS].shape != (-(-shape[0] // 8),):
            raise ValueError(f"{tensors[ROWS].numel()} bytes cannot tell {shape[0]} rows apart")
        bits = np.unpackbits(tensors[ROWS].numpy(), count=shape[0]).astype(bool)
        is_kept = torch.from_numpy(bits)
        n_kept = int(is_kept.sum())
        if not 0 < n_kept < shape[0]:
            raise ValueError(f"{n_kept} of {shape[0]} rows are kept")
        return cls(
            QuantizedMatrix.from_tensors(tensors, (shape[0] - n_kept, shape[1]), n_bits),
            QuantizedMatrix.from_tensors(_of_kept(tensors), (n_kept, shape[1]), kept_bits),
            is_kept,
        )

    @property
    def n_bytes(self) -> int:
        """Bytes in a file, its header left out."""
        return sum(tensor.nbytes for tensor in self.to_tensors().values())


def _of_kept(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    ours = (name for name in tensors if name.startswith(KEPT_ROWS))
    return {name.removeprefix(KEPT_ROWS): tensors[name] for name in ours}


Rounded = QuantizedMatrix | MixedMatrix


def _check_parts(
    scale: Tensor, zero_point: Tensor, input_scale: Tensor | None, shape: tuple[int, int]
) -> None:
    n_out, n_in = shape
    if scale.dim() != 3 or scale.shape[0] not in (1, n_out) or scale.shape[2] != 1:
        raise ValueError(f"a scale of shape {tuple(scale.shape)} for a matrix of {shape}")
    if scale.shape[1] == 0 or n_in % scale.shape[1] or zero_point.shape != scale.shape:
        raise ValueError(f"{scale.shape[1]} blocks for a row of {n_in}")
    if input_scale is not None and input_scale.shape != (n_in,):
        raise ValueError(f"an input scale of {tuple(input_scale.shape)} for {n_in} inputs")


def pack(codes: Tensor, n_bits: int) -> Tensor:
    """Codes as `n_bits` each, the most significant first: uint8, ⌈n · n_bits / 8⌉ of them."""
    bits = np.unpackbits(codes.flatten().cpu().numpy()[:, None], axis=1)[:, -n_bits:]
    return torch.from_numpy(np.packbits(bits.flatten()))


def unpack(packed: Tensor, n_codes: int, n_bits: int) -> Tensor:
    """The inverse of `pack`: uint8 codes (n_codes). Raises `ValueError` for another length."""
    if packed.dtype is not torch.uint8 or packed.shape != (-(-n_codes * n_bits // 8),):
        raise ValueError(f"{packed.numel()} bytes cannot hold {n_codes} codes of {n_bits} bits")
    bits = np.unpackbits(packed.cpu().numpy(), count=n_codes * n_bits).reshape(n_codes, n_bits)
    weights = 1 << np.arange(n_bits - 1, -1, -1, dtype=np.uint8)
    return torch.from_numpy((bits * weights).sum(axis=1, dtype=np.uint8))
