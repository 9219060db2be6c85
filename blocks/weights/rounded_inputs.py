"""What a matrix reads, rounded before it is multiplied: as a file says it, and as it runs."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from blocks.weights.quantized import symmetric_grid

M = TypeVar("M", bound=nn.Module)


class ActivationGrid(StrEnum):
    """What shares a grid among activations, and when it is laid."""

    NONE = "none"
    STATIC = "static"
    TENSOR = "tensor"
    TOKEN = "token"


@dataclass(frozen=True, eq=False)
class RoundedInput:
    """How activations (…, in) are rounded to 2ⁿ points, symmetric about 0.

    A grid serves all that is read at once or one token, and is laid anew each time; a static one
    was calibrated and reaches to `reach`. `smoothing` (in) divides the activations before, and they
    are multiplied by it again: the matrix is divided by it.
    """

    n_bits: int
    grid: ActivationGrid
    reach: float = 0.0
    smoothing: Tensor | None = None

    def of(self, x: Tensor) -> Tensor:
        """What the matrix is multiplied with, as float32 has it."""
        if self.smoothing is None:
            return self._rounded(x.float()).to(x.dtype)
        return (self._rounded(x.float() / self.smoothing) * self.smoothing).to(x.dtype)

    def _rounded(self, x: Tensor) -> Tensor:
        grid = symmetric_grid(self._reach(x), self.n_bits)
        return grid.values(grid.codes(x, self.n_bits))

    def _reach(self, x: Tensor) -> Tensor:
        match self.grid:
            case ActivationGrid.TOKEN:
                return x.abs().amax(-1, keepdim=True)
            case ActivationGrid.TENSOR:
                return x.abs().amax()
            case _:
                return x.new_tensor(self.reach)


class RoundedLinear(nn.Linear):
    """A linear layer whose input is rounded before it is multiplied."""

    rounding: RoundedInput

    @classmethod
    def of(cls, layer: nn.Linear, rounding: RoundedInput) -> "RoundedLinear":
        """The layer with the same parameters, not copies of them."""
        ours = cls(layer.in_features, layer.out_features, bias=False, device="meta")
        ours.weight, ours.bias, device = layer.weight, layer.bias, layer.weight.device
        smoothing = None if rounding.smoothing is None else rounding.smoothing.to(device)
        ours.rounding = replace(rounding, smoothing=smoothing)
        return ours.train(layer.training)

    def forward(self, x: Tensor) -> Tensor:
        """(…, in) to (…, out)."""
        return F.linear(self.rounding.of(x), self.weight, self.bias)


def round_inputs(model: M, inputs: Mapping[str, RoundedInput]) -> M:
    """Let linear layers round what they read, in place, before it is shared; by their weights."""
    for name, rounding in inputs.items():
        path = name.removesuffix(".weight")
        layer = model.get_submodule(path)
        assert isinstance(layer, nn.Linear)  # a file is checked where it is read
        model.set_submodule(path, RoundedLinear.of(layer, rounding))
    return model


def linear_weights(model: nn.Module) -> list[str]:
    """The names of the weights of linear layers, in the order in which they run."""
    layers = (path for path, layer in model.named_modules() if isinstance(layer, nn.Linear))
    return [f"{path}.weight" for path in layers]
