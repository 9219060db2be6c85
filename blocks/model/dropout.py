"""Dropout that never touches a shared model, and never the global random state."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

import torch
from torch import Tensor, nn


class _Training(NamedTuple):
    generator: torch.Generator
    updates_statistics: bool


_training: ContextVar[_Training | None] = ContextVar("training", default=None)


@contextmanager
def training_mode(
    generator: torch.Generator, *, updates_statistics: bool = False
) -> Iterator[None]:
    """Run this thread's passes as in training: dropout on, batch norm on batch statistics.

    Models are shared between threads, so the mode belongs to the pass and not to the module.
    Who trains a model of its own lets the running statistics of batch norm follow.
    """
    token = _training.set(_Training(generator, updates_statistics))
    try:
        yield
    finally:
        _training.reset(token)


def in_training_mode() -> bool:
    """Whether this thread's passes are training passes."""
    return _training.get() is not None


def updates_statistics() -> bool:
    """Whether this thread's passes move the running statistics of batch norm."""
    training = _training.get()
    return training is not None and training.updates_statistics


class Dropout(nn.Module):
    """Zero each value with probability `p` in training mode and scale the rest by 1/(1−p).

    Any shape. Source: Srivastava et al. 2014.
    """

    def __init__(self, p: float):
        super().__init__()
        self.p = p

    @property
    def is_active(self) -> bool:
        """Whether anything would be dropped now."""
        return self.p > 0 and in_training_mode()

    def forward(self, x: Tensor) -> Tensor:
        """Drop, with the generator of the current training pass."""
        training = _training.get()
        if training is None or self.p == 0:
            return x
        generator = training.generator
        chance = torch.rand(x.shape, generator=generator, device=generator.device)
        return x * (chance >= self.p).to(x) / (1 - self.p)
