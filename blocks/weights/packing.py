"""Tensors that need fewer bytes in a file than their numbers: rounded ones and those of many zeros.

Beside the tensors a file holds a table in JSON: for each packed matrix its shape, its bits where it
is rounded, and those of what it reads where that is rounded too. What a matrix is packed into is
named after it: `layers.0…weight.codes`.
"""

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from blocks.weights.quantized import MixedMatrix, QuantizedMatrix, Rounded
from blocks.weights.rounded_inputs import ActivationGrid, RoundedInput

KEPT, VALUES, REACH = "kept", "values", "input_reach"


class Unpacked(NamedTuple):
    """All tensors of a file by name, those that are rounded, and of these what they read."""

    tensors: dict[str, Tensor]
    quantized: dict[str, Rounded]
    inputs: dict[str, RoundedInput]


def pack_tensors(
    plain: Mapping[str, Tensor],
    quantized: Mapping[str, Rounded],
    inputs: Mapping[str, RoundedInput],
) -> tuple[dict[str, Tensor], str]:
    """Pack these tensors for a file, and return the table of what was packed."""
    sparse = {name: tensor for name, tensor in plain.items() if _is_smaller_sparse(tensor)}
    written = {name: tensor for name, tensor in plain.items() if name not in sparse}
    table: dict[str, dict[str, Any]] = {}
    for name, tensor in sparse.items():
        written |= _named(name, _without_zeros(tensor))
        table[name] = {"shape": list(tensor.shape)}
    for name, matrix in quantized.items():
        written |= _named(name, matrix.to_tensors())
        table[name] = {"shape": list(matrix.shape), "n_bits": matrix.n_bits}
        if isinstance(matrix, MixedMatrix):
            table[name]["kept_bits"] = matrix.kept.n_bits
    for name, rounding in inputs.items():
        table[name] |= {"input_bits": rounding.n_bits, "input_grid": str(rounding.grid)}
        if rounding.grid is ActivationGrid.STATIC:
            written |= _named(name, {REACH: torch.tensor([rounding.reach])})
    return written, json.dumps(table)


def unpack_tensors(written: Mapping[str, Tensor], table: str) -> Unpacked:
    """The inverse of `pack_tensors`.

    Raises `ValueError`, `KeyError` or `TypeError` where table and tensors do not fit together. No
    more memory is taken than 32 times what the tensors take.
    """
    tensors, quantized, inputs = dict(written), dict[str, Rounded](), dict[str, RoundedInput]()
    for name, entry in json.loads(table).items():
        parts = _taken(tensors, name)
        shape = _shape(entry["shape"])
        if "n_bits" in entry:
            quantized[name] = _rounded(parts, shape, entry)
            tensors[name] = quantized[name].values()
            if "input_bits" in entry:
                inputs[name] = _rounded_input(parts, quantized[name], entry)
        else:
            tensors[name] = _with_zeros(parts, shape)
    return Unpacked(tensors, quantized, inputs)


def _rounded_input(
    parts: Mapping[str, Tensor], matrix: Rounded, entry: Mapping[str, Any]
) -> RoundedInput:
    """What the matrix reads; the scale that divides its columns multiplies that."""
    n_bits, grid = _n_bits(entry["input_bits"]), ActivationGrid(entry["input_grid"])
    smoothing = matrix.input_scale if isinstance(matrix, QuantizedMatrix) else None
    reach = float(parts[REACH].item()) if grid is ActivationGrid.STATIC else 1.0
    if not 0 < reach < math.inf or grid is ActivationGrid.NONE:
        raise ValueError(f"{grid}: no grid that reaches to {reach}")
    return RoundedInput(n_bits, grid, reach, smoothing)


def _rounded(
    parts: Mapping[str, Tensor], shape: tuple[int, int], entry: Mapping[str, Any]
) -> Rounded:
    n_bits = _n_bits(entry["n_bits"])
    if "kept_bits" not in entry:
        return QuantizedMatrix.from_tensors(parts, shape, n_bits)
    return MixedMatrix.from_tensors(parts, shape, n_bits, _n_bits(entry["kept_bits"]))


def _named(name: str, parts: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {f"{name}.{part}": tensor for part, tensor in parts.items()}


def _taken(tensors: dict[str, Tensor], name: str) -> dict[str, Tensor]:
    """The parts of one matrix, which leave the others."""
    names = [each for each in tensors if each.startswith(f"{name}.")]
    return {each.removeprefix(f"{name}."): tensors.pop(each) for each in names}


def _is_smaller_sparse(tensor: Tensor) -> bool:
    """Whether a bit for every number and the bytes of those that are not 0 take less room."""
    if tensor.dim() != 2:
        return False
    n_kept = int(tensor.count_nonzero())
    return n_kept * tensor.element_size() + -(-tensor.numel() // 8) < tensor.nbytes


def _without_zeros(tensor: Tensor) -> dict[str, Tensor]:
    kept = tensor != 0
    return {KEPT: torch.from_numpy(np.packbits(kept.numpy())), VALUES: tensor[kept]}


def _with_zeros(parts: Mapping[str, Tensor], shape: tuple[int, int]) -> Tensor:
    n = shape[0] * shape[1]
    bits, values = parts[KEPT], parts[VALUES]
    if bits.dtype is not torch.uint8 or bits.shape != (-(-n // 8),):
        raise ValueError(f"{bits.numel()} bytes cannot say which of {n} numbers are kept")
    kept = torch.from_numpy(np.unpackbits(bits.numpy(), count=n).astype(bool))
    tensor = torch.zeros(n, dtype=values.dtype)
    if values.dim() != 1 or len(values) != int(kept.sum()):
        raise ValueError(f"{len(values)} numbers for {int(kept.sum())} places")
    tensor[kept] = values
    return tensor.reshape(shape)


def _shape(value: object) -> tuple[int, int]:
    if not isinstance(value, list) or len(value) != 2 or not all(_is_count(n) for n in value):
        raise ValueError(f"{value} is not the shape of a matrix")
    return value[0], value[1]


def _n_bits(value: object) -> int:
    if not _is_count(value) or not 1 <= value <= 8:  # type: ignore[operator]
        raise ValueError(f"{value} is not a number of bits")
    return value  # type: ignore[return-value]


def _is_count(value: object) -> bool:
    return type(value) is int and 0 < value < 2**31
