"""What the matrices of a model are multiplied with, on held-out text: what calibration needs."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from blocks.training.task import Batch


@dataclass(frozen=True, eq=False)
class Inputs:
    """The rows that one matrix has met: X of shape (n, in), summed up.

    `gram` is XᵀX (in, in), `mean_size` the mean of |x| for each input (in), `largest` its maximum.
    """

    gram: Tensor
    mean_size: Tensor
    largest: Tensor

    @property
    def norms(self) -> Tensor:
        """The length of each column of X: (in)."""
        return self.gram.diagonal().clamp(min=0).sqrt()

    def output_error(self, exact: Tensor, changed: Tensor) -> float:
        """Σ (XWᵀ − XŴᵀ)² / Σ (XWᵀ)²: how far the products are off, as a share of them."""
        return float(self.squares(exact - changed) / self.squares(exact).clamp(min=1e-30))

    def squares(self, weight: Tensor) -> Tensor:
        """Σ (XWᵀ)², of a weight (out, in)."""
        return ((weight @ self.gram) * weight).sum()


@torch.no_grad()
def calibrate(model: nn.Module, batches: Iterable[Batch]) -> dict[str, Inputs]:
    """Run batches and sum up what each linear layer reads, by the name of its weight.

    The model must be the caller's own: it carries hooks while it runs.
    """
    sums: dict[str, _Sums] = {}
    with _listening(model, sums):
        for batch in batches:
            model(*batch.read)
    return {name: each.inputs() for name, each in sums.items()}


class _Sums:
    """Running sums over the rows of X, in float32 on the device of the model."""

    def __init__(self, width: int, device: torch.device):
        self.gram = torch.zeros(width, width, device=device)
        self.sizes, self.largest = torch.zeros(2, width, device=device)
        self.n_rows = 0

    def add(self, x: Tensor) -> None:
        rows = x.detach().flatten(0, -2).float()
        self.gram.addmm_(rows.T, rows)
        sizes = rows.abs()
        self.sizes += sizes.sum(0)
        self.largest = torch.maximum(self.largest, sizes.amax(0))
        self.n_rows += len(rows)

    def inputs(self) -> Inputs:
        mean_size = self.sizes / max(1, self.n_rows)
        return Inputs(self.gram.cpu(), mean_size.cpu(), self.largest.cpu())


@contextmanager
def _listening(model: nn.Module, sums: dict[str, _Sums]) -> Iterator[None]:
    with ExitStack() as stack:
        for path, layer in model.named_modules():
            if isinstance(layer, nn.Linear):
                sums[f"{path}.weight"] = own = _Sums(layer.in_features, layer.weight.device)
                hook = layer.register_forward_pre_hook(partial(_hear, own))
                stack.callback(hook.remove)
        yield


def _hear(sums: _Sums, layer: nn.Module, arguments: tuple[Tensor, ...]) -> None:
    sums.add(arguments[0])
