"""Random numbers to compute with, as a real pass would find them: in memory, or just made."""

import math
from collections.abc import Iterator
from itertools import cycle, repeat

import torch
from torch import Tensor

from blocks.model.randomness import generator

BEYOND_CACHES = 128 * 2**20
"""Bytes that no cache of the devices we know holds at once."""
MOST_COPIES = 256
DRAWN = 2**20


class Operands:
    """Draws tensors of N(0, `spread`²) on a device.

    What a pass meets once (weights, cached keys and values) must come from memory, not from a
    cache that still holds it from the repeat before. So a `rotating` tensor is another one at each
    call, until `working_set` bytes have passed: that of the model, where it is small enough to
    stay in a cache. At most 2²⁰ numbers are drawn, then they come again.
    """

    def __init__(
        self,
        device: torch.device | str,
        dtype: torch.dtype,
        *,
        working_set: int = BEYOND_CACHES,
        spread: float = 0.05,
        seed: int = 0,
    ):
        self.working_set = min(working_set, BEYOND_CACHES)
        drawn = torch.randn(DRAWN, generator=generator(seed, "operands")) * spread
        self.drawn = drawn.to(device, dtype)

    def tensor(self, *shape: int) -> Tensor:
        """One tensor, the same at every call of what is measured."""
        n = math.prod(shape)
        return self.drawn.repeat(-(-n // DRAWN))[:n].view(shape)

    def fill(self, tensor: Tensor) -> None:
        """Random numbers in place of what is there."""
        tensor.copy_(self.tensor(*tensor.shape))

    def n_copies(self, n_bytes: int) -> int:
        """Return the number of tensors of this size that make the working set."""
        return min(MOST_COPIES, max(1, -(-self.working_set // max(1, n_bytes))))

    def rotating(self, *shape: int) -> Iterator[Tensor]:
        """Another tensor of this shape at each call."""
        n_bytes = math.prod(shape) * self.drawn.itemsize
        return cycle(self.tensor(self.n_copies(n_bytes), *shape).unbind())

    def same(self, *shape: int) -> Iterator[Tensor]:
        """Return one tensor, reused at each call."""
        return repeat(self.tensor(*shape))
