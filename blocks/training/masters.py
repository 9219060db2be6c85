"""Weights in float32 that steps move, and the rounded copy of them that the model computes with.

A step is often smaller than the gap between two numbers of bfloat16 (1/256 of a weight, at most):
added to these it would be lost. Micikevicius et al. 2018 (arXiv:1710.03740), section 3.1.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from blocks.model.models import Model, build
from blocks.training.optimizers import weight_dtype
from blocks.training.spec import TrainingSpec


class Masters:
    """The exact weights, and the model that runs: one and the same where it runs in float32."""

    def __init__(self, exact: Model, model: Model):
        self.exact, self.model = exact, model
        is_same = exact is model
        self._pairs = [] if is_same else [*zip(exact.parameters(), model.parameters(), strict=True)]
        self._buffers = [] if is_same else [*zip(exact.buffers(), model.buffers(), strict=True)]

    @classmethod
    def of(cls, spec: TrainingSpec) -> "Masters":
        """With weights drawn from the seed, in the number format of the recipe."""
        dtype = weight_dtype(spec.recipe, spec.device)
        exact = build(spec.config, seed=spec.seed, device=spec.device)
        if dtype is torch.float32:
            return cls(exact, exact)
        found = cls(exact, build(spec.config, seed=spec.seed, device=spec.device, dtype=dtype))
        found.round()
        return found

    def take_gradients(self) -> None:
        """Give the exact weights the gradients of the rounded ones."""
        found = [(exact, each.grad) for exact, each in self._pairs if each.grad is not None]
        if found:
            weights, gradients = zip(*found, strict=True)
            exact = [torch.empty_like(each) for each in weights]
            torch._foreach_copy_(exact, gradients)
            for weight, gradient in zip(weights, exact, strict=True):
                weight.grad = gradient
            for _exact, each in self._pairs:
                each.grad = None

    @torch.no_grad()
    def round(self) -> None:
        """Let the model compute with the weights of now."""
        if self._pairs:
            exact, rounded = zip(*self._pairs, strict=True)
            torch._foreach_copy_(rounded, exact)
        for exact, noted in self._buffers:  # the model wrote these itself
            exact.copy_(noted)
