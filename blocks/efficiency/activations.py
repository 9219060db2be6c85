"""Activations rounded as weights are (W8A8): what each matrix reads, on a grid of a few bits.

The grid serves all that is read at once, or one token; it is laid anew each time (dynamic) or was
calibrated (static). Xiao et al. 2022, "SmoothQuant", moves outliers from activations to weights:
Y = (X diag(s)⁻¹)(diag(s) Wᵀ), with s_j = max|X_j|^α / max|W_j|^(1−α), equation 4.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from blocks.efficiency.calibration import Inputs
from blocks.efficiency.compression import Calibrated, matrix_names
from blocks.efficiency.quantization import Granularity, Quantization, affine_grid, grid_of, quantize
from blocks.model.models import Model
from blocks.weights.model_file import trained
from blocks.weights.quantized import Grid, QuantizedMatrix

ALPHA = 0.5  # how much of an outlier goes over to the weights
LEAST = 1e-5


class ActivationGrid(StrEnum):
    """What shares a grid among activations, and when it is laid."""

    NONE = "none"
    STATIC = "static"
    TENSOR = "tensor"
    TOKEN = "token"

    @property
    def granularity(self) -> Granularity:
        """Of the rows that a matrix reads."""
        return Granularity.CHANNEL if self is ActivationGrid.TOKEN else Granularity.TENSOR


@dataclass(frozen=True, kw_only=True)
class ActivationRounding:
    """Weights, a grid a row, and activations at `n_bits`; without a grid the weights alone."""

    n_bits: int = 8
    grid: ActivationGrid = ActivationGrid.TOKEN
    is_smooth: bool = False

    @property
    def of_inputs(self) -> Quantization:
        """The grid of activations, symmetric about 0."""
        return Quantization(n_bits=self.n_bits, granularity=self.grid.granularity)


class RoundedLinear(nn.Module):
    """A linear layer whose input is rounded before it is multiplied, any shape (…, in).

    `smoothing` (in) divides the input before; `largest` is what a static grid reaches to.
    """

    weight: Tensor

    def __init__(
        self,
        linear: nn.Linear,
        weight: QuantizedMatrix,
        how: ActivationRounding,
        largest: Tensor,
    ):
        super().__init__()
        self.register_buffer("weight", weight.values())
        self.bias, self.how = linear.bias, how
        self.smoothing = weight.input_scale
        self.static = affine_grid(-largest, largest, how.of_inputs)

    def forward(self, x: Tensor) -> Tensor:
        """(…, in) to (…, out)."""
        if self.smoothing is None:
            return F.linear(self._rounded(x), self.weight, self.bias)
        return F.linear(self._rounded(x / self.smoothing) * self.smoothing, self.weight, self.bias)

    def _rounded(self, x: Tensor) -> Tensor:
        match self.how.grid:
            case ActivationGrid.NONE:
                return x
            case ActivationGrid.STATIC:
                return on_grid(x, self.how.of_inputs, self.static)
            case _:
                return on_grid(x, self.how.of_inputs)


def on_grid(x: Tensor, how: Quantization, grid: Grid | None = None) -> Tensor:
    """Round activations (…, in) to a grid that is given, or laid for all of them or each token."""
    blocks = how.in_blocks(x.reshape(-1, x.shape[-1]))
    grid = grid_of(blocks, how) if grid is None else grid
    return grid.values(grid.codes(blocks, how.n_bits)).view_as(x)


def smoothing_scales(
    weights: Mapping[str, Tensor], inputs: Mapping[str, Inputs]
) -> dict[str, Tensor]:
    """s (in) for each matrix; those that read the same have one, which a norm could take over."""
    groups: dict[bytes, list[str]] = {}
    for name in weights:
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


def with_rounded_activations(model: Calibrated, how: ActivationRounding) -> Model:
    """A model of its own whose linear layers round what they read; the unembedding does not."""
    config, tensors = model.file.config, model.file.tensors
    inputs = model.own_inputs
    weights = {name: tensors[name].float() for name in matrix_names(config, tensors)}
    read = {name: weight for name, weight in weights.items() if inputs[name].largest.any()}
    scales = smoothing_scales(read, inputs) if how.is_smooth else {}
    built = trained(config, tensors)
    for name, weight in read.items():
        path = name.removesuffix(".weight")
        linear = built.get_submodule(path)
        assert isinstance(linear, nn.Linear)
        matrix = smoothed(weight, how, scales.get(name))
        largest = inputs[name].largest / scales.get(name, torch.ones(()))
        built.set_submodule(path, RoundedLinear(linear, matrix, how, largest.amax()))
    return built


def smoothed(weight: Tensor, how: ActivationRounding, scale: Tensor | None) -> QuantizedMatrix:
    """W diag(s) rounded, a grid a row."""
    plain = quantize(weight if scale is None else weight * scale, Quantization(n_bits=how.n_bits))
    return QuantizedMatrix(plain.codes, plain.grid, plain.n_bits, scale)
