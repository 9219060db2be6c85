"""Muon, with all matrices of one shape made orthogonal together."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, optim

from blocks.training.uncompiled import Uncompiled

N_STEPS = 5
# a, b, c of aX + b(XXᵀ)X + c(XXᵀ)²X (Jordan 2024).
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
LEAST_NORM = 1e-7


class Muon(Uncompiled, optim.Muon):
    """What `torch.optim.Muon` does, for all matrices of one shape at once, in a format of choice.

    torch takes one after the other, and always in bfloat16, which is several times slower where
    the processor has no products for it. The rate is multiplied by √max(1, d_out/d_in). `dtype`:
    of the products that make a step orthogonal; None: that of the matrices.
    """

    def __init__(self, params: Any, *, dtype: torch.dtype | None = None, **more: Any):
        super().__init__(params, **more)
        self.dtype = dtype

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Move every matrix that has a gradient; a `closure` is not called."""
        for group in self.param_groups:
            for matrices in _of_one_shape(group["params"]):
                self._move(matrices, group)

    def _move(self, matrices: Sequence[Tensor], group: dict[str, Any]) -> None:
        rate, decay = group["lr"], group["weight_decay"]
        ahead, dtype = torch.stack(self._directions(matrices, group["momentum"])), matrices[0].dtype
        updates = orthogonal(ahead.to(self.dtype or dtype)).to(dtype)
        for matrix, update in zip(matrices, updates, strict=True):
            if decay:
                matrix.mul_(1 - rate * decay)
            stretched = max(1, matrix.shape[0] / matrix.shape[1]) ** 0.5
            if isinstance(rate, Tensor):  # one of the device
                matrix.addcmul_(_laid(update, matrix), rate, value=-stretched)
            else:
                matrix.add_(_laid(update, matrix), alpha=-rate * stretched)

    def _directions(self, matrices: Sequence[Tensor], momentum: float) -> list[Tensor]:
        """Gradients, ahead of their means (Nesterov), laid so that none is taller than wide."""
        gradients = [each.grad for each in matrices if each.grad is not None]
        means = [self._mean_of(each) for each in matrices]
        torch._foreach_lerp_(means, gradients, 1 - momentum)
        ahead = torch._foreach_lerp(gradients, means, momentum)
        return [_laid(each, each) for each in ahead]

    def _mean_of(self, matrix: Tensor) -> Tensor:
        """The running mean of its gradient, which begins at 0."""
        state = self.state[matrix]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(matrix)
        mean: Tensor = state["momentum_buffer"]
        return mean


def orthogonal(x: Tensor) -> Tensor:
    """Five Newton–Schulz steps on each matrix: singular values near 1 (Jordan 2024).

    (n, rows, columns) to the same, with rows ≤ columns. Each step multiplies X by a polynomial of
    XXᵀ; of wide matrices only XXᵀ goes through the steps, and X is multiplied once, at the end.
    That loses small singular values in a format as coarse as bfloat16, which takes every step.
    """
    x = x / torch.linalg.matrix_norm(x, keepdim=True).clamp(min=LEAST_NORM)
    is_wide = x.shape[2] >= 2 * x.shape[1]
    if not is_wide or x.dtype.itemsize < torch.float32.itemsize:
        for _ in range(N_STEPS):
            x = _factor(x @ x.mT) @ x
        return x
    square = x @ x.mT
    product = factor = _factor(square)
    for _ in range(N_STEPS - 1):
        square = square @ (factor @ factor)
        factor = _factor(square)
        product = factor @ product
    return product @ x


def _factor(square: Tensor) -> Tensor:
    """a + b·S + c·S², for each S = XXᵀ: (n, rows, rows)."""
    a, b, c = COEFFICIENTS
    factor = torch.baddbmm(square, square, square, beta=b, alpha=c)
    factor.diagonal(dim1=1, dim2=2).add_(a)
    return factor


def _laid(x: Tensor, matrix: Tensor) -> Tensor:
    return x.mT if matrix.shape[0] > matrix.shape[1] else x


def _of_one_shape(params: Iterable[Tensor]) -> Iterable[list[Tensor]]:
    """Matrices with a gradient, together where they have as many rows and columns, or turned."""
    found: dict[tuple[int, ...], list[Tensor]] = defaultdict(list)
    for param in params:
        if param.grad is not None:
            found[tuple(sorted(param.shape))].append(param)
    return found.values()
