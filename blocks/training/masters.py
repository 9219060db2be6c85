"""Weights in float32 that steps move, and the rounded copy of them that the model computes with.

A step is often smaller than the gap between two numbers of bfloat16 (1/256 of a weight, at most):
added to these it would be lost. Micikevicius et al. 2018 (arXiv:1710.03740), section 3.1.
"""

import torch

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
        found = [(each, narrow.grad) for each, narrow in self._pairs if narrow.grad is not None]
        if found:
            wide = [torch.empty_like(each) for each, _gradient in found]
            torch._foreach_copy_(wide, [gradient for _each, gradient in found])
            for (each, _gradient), gradient in zip(found, wide, strict=True):
                each.grad = gradient

    @torch.no_grad()
    def round(self) -> None:
        """Let the model compute with the weights of now."""
        if self._pairs:
            exact, rounded = map(list, zip(*self._pairs, strict=True))
            torch._foreach_copy_(rounded, exact)
        for buffer, noted in self._buffers:  # the model wrote these itself
            buffer.copy_(noted)
