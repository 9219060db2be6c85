"""The numbers of a picture that moves, a byte each.

A number is −127 to 127 times a step that its row has for itself, so that a token whose numbers are
huge takes nothing from the others; `MASKED` is a pair that the mask forbids.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from blocks.model.normalization import at_least_float32

ZERO, MASKED = 127, 255
SHARE_IN_COLOR = 0.99  # of the sizes of a row: those above have the strongest colour


@dataclass(frozen=True, eq=False)
class Matrix:
    """Numbers of a run: `codes` (heads, rows, columns), a byte each; `steps` (heads, rows).

    A number is (code − 127) · step. `of`: how many columns there are, of which those
    from `first` on are here; `rows`, `columns`: whose they are, the name of a stack or of none
    (features); `strong`: the size from which on the colour is the strongest.
    """

    codes: NDArray[np.uint8]
    steps: NDArray[np.float32]
    of: int
    rows: str
    columns: str | None
    strong: float
    first: int = 0

    @property
    def values(self) -> NDArray[np.float64]:
        """The numbers as the picture has them, NaN where masked: (heads, rows, columns)."""
        found = (self.codes.astype(float) - ZERO) * self.steps[..., None]
        return np.where(self.codes == MASKED, np.nan, found)


def quantized(
    values: Tensor,
    hidden: Tensor | None = None,
    *,
    of: int,
    rows: str,
    columns: str | None = None,
    strong: float | None = None,
    first: int = 0,
) -> Matrix:
    """One byte a number, (heads, rows, columns), with a step for each row; `hidden`: masked."""
    values = at_least_float32(values)
    step = values.abs().amax(-1).nan_to_num() / ZERO
    shares = values / step.clamp(min=torch.finfo(step.dtype).tiny)[..., None]
    codes = (shares.nan_to_num().round() + ZERO).to(torch.uint8)
    if hidden is not None:
        codes = codes.masked_fill(hidden, MASKED)
    if strong is None:
        of_rows = values.abs().double().nan_to_num().quantile(SHARE_IN_COLOR, dim=-1)
        # A token whose numbers are huge bleaches no other.
        strong = float(of_rows.median()) or float(of_rows.max())
    numbers = codes.cpu().numpy(), step.float().cpu().numpy()
    return Matrix(*numbers, of, rows, columns, strong or 1.0, first)
