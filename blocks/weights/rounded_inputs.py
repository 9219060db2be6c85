"""What a matrix reads, rounded before it is multiplied: as a file says it, and as it runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from blocks.model.models import Encoder, EncoderDecoder
from blocks.weights.quantized import symmetric_grid, symmetric_scale

M = TypeVar("M", bound=nn.Module)
Product = Callable[[Tensor, Tensor, Tensor | None], Tensor]
"""As `F.linear`: x (…, in), a matrix (out, in) and a bias (out) or None to (…, out)."""
EMBEDDING = "embed.weight"


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

    def __call__(self, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """Round, then multiply: a `Product`."""
        return F.linear(self.of(x), weight, bias)

    def of(self, x: Tensor) -> Tensor:
        """What the matrix is multiplied with, as float32 has it."""
        rounded = self._rounded(self.smoothed(x.float()))
        return (rounded if self.smoothing is None else rounded * self.smoothing).to(x.dtype)

    def smoothed(self, x: Tensor) -> Tensor:
        """What is laid on the grid."""
        return x if self.smoothing is None else x / self.smoothing

    def scale(self, x: Tensor) -> Tensor:
        """The distance of the points for what is smoothed: (…, 1) by token, else a number."""
        return symmetric_scale(self._reach(x), self.n_bits)

    def on(self, device: torch.device) -> "RoundedInput":
        """The same for a model on this device."""
        moved = None if self.smoothing is None else self.smoothing.to(device)
        return replace(self, smoothing=moved)

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
    """A linear layer with a product of its own: what it reads is rounded before."""

    product: Product

    @classmethod
    def of(cls, layer: nn.Linear, product: Product) -> "RoundedLinear":
        """The layer with the same parameters, not copies of them."""
        ours = cls(layer.in_features, layer.out_features, bias=False, device="meta")
        ours.weight, ours.bias, ours.product = layer.weight, layer.bias, product
        return ours.train(layer.training)

    def forward(self, x: Tensor) -> Tensor:
        """(…, in) to (…, out)."""
        return self.product(x, self.weight, self.bias)


def round_inputs(model: M, inputs: Mapping[str, RoundedInput]) -> M:
    """Let matrices round what they read, in place, before the model is shared; by their names."""
    for name, rounding in inputs.items():
        multiply_by(model, name, rounding.on(model.get_parameter(name).device))
    return model


def multiply_by(model: nn.Module, name: str, product: Product) -> None:
    """Give the matrix of this name another product, in place; a table that is tied, as it unembeds.

    A file is checked where it is read.
    """
    if name == EMBEDDING:
        assert isinstance(model, Encoder | EncoderDecoder)
        model.linear = product
        return
    path = name.removesuffix(".weight")
    layer = model.get_submodule(path)
    assert isinstance(layer, nn.Linear)
    model.set_submodule(path, RoundedLinear.of(layer, product))


def linear_weights(model: nn.Module) -> list[str]:
    """The names of the weights of linear layers, in the order in which they run."""
    layers = (path for path, layer in model.named_modules() if isinstance(layer, nn.Linear))
    return [f"{path}.weight" for path in layers]


def multiplied_weights(model: nn.Module) -> list[str]:
    """The names of all that activations are multiplied with: these, and a tied table."""
    is_tied = isinstance(model, Encoder | EncoderDecoder) and model.unembed is None
    return [*linear_weights(model), *([EMBEDDING] if is_tied else [])]
