"""Activations rounded as weights are (W8A8): what each matrix reads, on a grid of a few bits.

The grid serves all that is read at once, or one token; it is laid anew each time (dynamic) or was
calibrated (static). Xiao et al. 2022, "SmoothQuant", moves outliers from activations to weights:
Y = (X diag(s)⁻¹)(diag(s) Wᵀ), with s_j = max|X_j|^α / max|W_j|^(1−α), equation 4.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from blocks.efficiency.calibration import Inputs
from blocks.efficiency.quantization import Quantization, quantize
from blocks.weights.quantized import QuantizedMatrix, Rounded
from blocks.weights.rounded_inputs import ActivationGrid, RoundedInput

ALPHA = 0.5  # how much of an outlier goes over to the weights
LEAST = 1e-5


@dataclass(frozen=True, kw_only=True)
class ActivationRounding:
    """How many bits activations have, and what shares a grid; `is_smooth`: by SmoothQuant first."""

    n_bits: int = 8
    grid: ActivationGrid = ActivationGrid.TOKEN
    is_smooth: bool = False

    @property
    def needs_calibration(self) -> bool:
        """Whether it is known beforehand how large activations are."""
        return self.is_smooth or self.grid is ActivationGrid.STATIC


def smoothing_scales(
    weights: Mapping[str, Tensor], inputs: Mapping[str, Inputs]
) -> dict[str, Tensor]:
    """s (in) for each matrix that reads anything; those that read the same have one.

    A norm before them could take it over.
    """
    groups: dict[bytes, list[str]] = {}
    for name in weights:
        if inputs[name].largest.any():
            groups.setdefault(inputs[name].largest.numpy().tobytes(), []).append(name)
    found: dict[str, Tensor] = {}
    for names in groups.values():
        of_weights = torch.stack([weights[name].abs().amax(0) for name in names]).amax(0)
        found |= dict.fromkeys(names, _scale(inputs[names[0]].largest, of_weights))
    return found


def _scale(of_inputs: Tensor, of_weights: Tensor) -> Tensor:
    """Equation 4, as half precision holds it."""
    scale = of_inputs.clamp(min=LEAST) ** ALPHA / of_weights.clamp(min=LEAST) ** (1 - ALPHA)
    return scale.half().float().clamp(min=LEAST)


def smoothed(weight: Tensor, how: Quantization, scale: Tensor) -> QuantizedMatrix:
    """W diag(s) rounded; it is divided by s when it runs."""
    plain = quantize(weight * scale, how)
    return QuantizedMatrix(plain.codes, plain.grid, plain.n_bits, scale)


def rounded_inputs(
    matrices: Mapping[str, Rounded], how: ActivationRounding, inputs: Mapping[str, Inputs]
) -> dict[str, RoundedInput]:
    """What each of these matrices reads, rounded.

    Left alone is what reads nothing, and what was not calibrated where it has to be: a tied table.
    """
    return {
        name: _rounded_input(matrix, how, inputs.get(name))
        for name, matrix in matrices.items()
        if (inputs[name].largest.any() if name in inputs else not how.needs_calibration)
    }


def _rounded_input(matrix: Rounded, how: ActivationRounding, inputs: Inputs | None) -> RoundedInput:
    smoothing = matrix.input_scale if isinstance(matrix, QuantizedMatrix) else None
    if how.grid is not ActivationGrid.STATIC or inputs is None:
        return RoundedInput(how.n_bits, how.grid, smoothing=smoothing)
    largest = inputs.largest if smoothing is None else inputs.largest / smoothing
    return RoundedInput(how.n_bits, how.grid, float(largest.amax()), smoothing)
