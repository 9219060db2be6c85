"""What rounding does to the matrices of a model, and to the numbers of one row."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from blocks.efficiency.compression import Calibrated, Compression, layers, rounded_alone
from blocks.efficiency.exemption import roundable
from blocks.efficiency.matrix_places import place_of
from blocks.efficiency.quantization import sqnr
from blocks.weights.quantized import QuantizedMatrix

Rows = tuple[dict[str, Any], ...]
MOST_SHOWN = 128  # numbers of a row
OUTLIER = 6  # standard deviations


@dataclass(frozen=True, eq=False)
class OneGrid:
    """Numbers of one row that share a grid: `exact`, `rounded`, both (n), and its `points`."""

    matrix: str
    row: int
    exact: NDArray[np.float32]
    rounded: NDArray[np.float32]
    points: NDArray[np.float32]

    @property
    def n_used(self) -> int:
        """Points of the grid that any of the numbers lies on."""
        return len(np.unique(self.rounded))


@dataclass(frozen=True, eq=False)
class RoundingFacts:
    """All rounded matrices: `rows` has matrix, stack, layer, part, sqnr (dB), bits,
    outlier_channels.

    `bits` counts codes and grids for each weight; `outlier_channels` the input channels with a
    weight beyond six standard deviations of its matrix.
    Bytes are those of the matrices in a file, and of the same in half precision; both count what
    is exempt.
    """

    how: Compression
    rows: pd.DataFrame
    n_bytes: int
    n_bytes_before: int
    grid: OneGrid

    @property
    def worst(self) -> pd.Series:
        """The row of the matrix that loses most."""
        return self.rows.iloc[int(self.rows["sqnr"].argmin())]

    @property
    def median_sqnr(self) -> float:
        """Half of the matrices lose less."""
        return float(self.rows["sqnr"].median())

    @property
    def bits_a_weight(self) -> float:
        """Codes and grids, over all weights."""
        return 16 * self.n_bytes / self.n_bytes_before


def rounding_facts(
    model: Calibrated,
    how: Compression,
    matrix: str,
    rows_of: Callable[[tuple[str, ...]], Rows] | None = None,
) -> RoundingFacts:
    """Round all matrices by grid and rounding, but what is exempt, and look at `matrix`.

    Where it has none of that name, at the worst. `rows_of` gives the `rounded_rows` of a layer.
    """
    found = map(rows_of or partial(rounded_rows, model, how), layers(model, how))
    each = [row for part in found for row in part]
    n_bytes = {str(row["matrix"]): row["n_bytes"] for row in each}
    rows, exact = pd.DataFrame(each).drop(columns="n_bytes"), model.file.tensors
    worst = str(rows["matrix"].iloc[int(rows["sqnr"].argmin())])
    shown = matrix if matrix in n_bytes else worst
    in_half = {name: 2 * exact[name].numel() for name in roundable(model.file.config)}
    (grid,) = rounded_alone(model, how, [shown]).values()
    return RoundingFacts(
        how=how,
        rows=rows,
        n_bytes=sum((in_half | n_bytes).values()),
        n_bytes_before=sum(in_half.values()),
        grid=_one_grid(shown, exact[shown].float(), grid),
    )


def rounded_rows(model: Calibrated, how: Compression, names: Iterable[str]) -> Rows:
    """The rows of some matrices, with their bytes in a file, `n_bytes`."""
    exact = model.file.tensors
    matrices = rounded_alone(model, how, names)
    return tuple(_row(name, exact[name].float(), each) for name, each in matrices.items())


def _row(name: str, exact: Tensor, rounded: QuantizedMatrix) -> dict[str, Any]:
    return {
        **place_of(name),
        "n_bytes": rounded.n_bytes,
        "sqnr": sqnr(exact, rounded.values()),
        "bits": 8 * rounded.n_bytes / exact.numel(),
        "outlier_channels": int((exact.abs() > OUTLIER * exact.std()).any(0).sum()),
    }


def _one_grid(name: str, exact: Tensor, rounded: QuantizedMatrix) -> OneGrid:
    """The first block of the row that loses most."""
    values = rounded.values()
    lost = (exact - values).square().sum(1) / exact.square().sum(1).clamp(min=1e-30)
    row = int(lost.argmax())
    width = min(rounded.codes.shape[2], MOST_SHOWN)
    own_row = row if rounded.grid.scale.shape[0] > 1 else 0
    codes = torch.arange(2**rounded.n_bits, dtype=torch.float32)
    scale, zero_point = (each[own_row, 0, 0] for each in rounded.grid)
    points = (codes - zero_point) * scale
    scaled = 1.0 if rounded.input_scale is None else rounded.input_scale[:width]
    return OneGrid(
        matrix=name,
        row=row,
        exact=(exact[row, :width] * scaled).numpy(),
        rounded=(values[row, :width] * scaled).numpy(),
        points=points.numpy(),
    )
