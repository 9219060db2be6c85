"""One matrix rounded column by column: to nearest, by GPTQ, and with the scales of AWQ."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from blocks.efficiency.calibration import Inputs
from blocks.efficiency.compression import Calibrated, matrix_names
from blocks.efficiency.quantization import Quantization, quantize
from blocks.efficiency.rounding import EXPONENTS, gptq_so_far, scaled

N_LOOKS, MOST_ROWS = 32, 32


@dataclass(frozen=True, eq=False)
class ColumnFacts:
    """How wrong the products of one matrix (out, in) are, as a share of them: (XW − XŴ)² / (XW)².

    `nearest` and `gptq` at each look, after so many `columns` were rounded, none first; `awq` for
    each of `exponents`, all columns rounded. `change`, W now − W of the first rows (rows, in), is
    that of GPTQ when `n_rounded` columns are.
    """

    how: Quantization
    matrix: str
    matrices: tuple[str, ...]
    columns: tuple[int, ...]
    nearest: tuple[float, ...]
    gptq: tuple[float, ...]
    exponents: tuple[float, ...]
    awq: tuple[float, ...]
    n_rounded: int
    change: NDArray[np.float32]

    @property
    def best_exponent(self) -> float:
        """The exponent that AWQ chooses."""
        return self.exponents[self.awq.index(min(self.awq))]


def column_facts(model: Calibrated, how: Quantization, matrix: str, n_rounded: int) -> ColumnFacts:
    """Facts of `matrix`; where it reads nothing, of the one whose products are most wrong."""
    inputs, tensors = model.own_inputs, model.file.tensors
    names = [n for n in matrix_names(model.file.config, tensors) if inputs[n].largest.any()]
    name = matrix
    if matrix not in names:
        name = max(names, key=lambda each: _wrong(tensors[each], how, inputs[each]))
    weight, known = tensors[name].float(), inputs[name]
    columns, n_rounded = looks(weight.shape[1]), min(n_rounded, weight.shape[1])
    gptq, change = _by_gptq(weight, how, known, columns, n_rounded)
    awq = (scaled(weight, how, known, exponent).values() for exponent in EXPONENTS)
    return ColumnFacts(
        how=how,
        matrix=name,
        matrices=tuple(names),
        columns=columns,
        nearest=_by_nearest(weight, how, known, columns),
        gptq=gptq,
        exponents=EXPONENTS,
        awq=tuple(known.output_error(weight, each) for each in awq),
        n_rounded=n_rounded,
        change=change,
    )


def looks(n_in: int) -> tuple[int, ...]:
    """After how many columns it is looked at: evenly, none and all of them included."""
    return tuple(sorted({round(n_in * i / N_LOOKS) for i in range(N_LOOKS + 1)}))


def _wrong(weight: Tensor, how: Quantization, inputs: Inputs) -> float:
    return inputs.output_error(weight.float(), quantize(weight, how).values())


def _by_nearest(
    weight: Tensor, how: Quantization, inputs: Inputs, columns: tuple[int, ...]
) -> tuple[float, ...]:
    rounded = quantize(weight, how).values()
    so_far = (torch.cat([rounded[:, :n], weight[:, n:]], dim=1) for n in columns)
    return tuple(inputs.output_error(weight, each) for each in so_far)


def _by_gptq(
    weight: Tensor, how: Quantization, inputs: Inputs, columns: tuple[int, ...], n_rounded: int
) -> tuple[tuple[float, ...], NDArray[np.float32]]:
    """The error at each look, and how far the first rows have moved by then."""
    found, change = [0.0], torch.zeros_like(weight[:MOST_ROWS])
    for n, now in enumerate(gptq_so_far(weight, how, inputs), start=1):
        if n in columns:
            found.append(inputs.output_error(weight, now))
        if n == n_rounded:
            change = (now - weight)[:MOST_ROWS]
    return tuple(found), change.numpy()
