"""Where kernels of our own do in one step what torch does in several."""

from functools import lru_cache

import torch
from torch import Tensor


def fuses(x: Tensor) -> bool:
    """Whether our own kernels work on all its numbers, which lie side by side."""
    return x.is_cuda and x.is_contiguous() and x.dtype is not torch.float64 and _has_kernels()


def fuses_heads(x: Tensor) -> bool:
    """Whether they do on heads, (batch, n_heads, seq, d_head)."""
    is_fit = x.is_cuda and x.dim() == 4 and x.stride(3) == 1 and x.dtype is not torch.float64
    return is_fit and _has_kernels()


def turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """What `positions.turn_pairs` makes of them."""
    from blocks.model.kernels import Turned  # Triton takes its time

    return Turned.apply(x, cos, sin)  # type: ignore[no-untyped-call]


def normed(x: Tensor, eps: float) -> Tensor:
    """Each head divided by its RMS."""
    from blocks.model.kernels import Normed

    return Normed.apply(x, eps)  # type: ignore[no-untyped-call]


def squared_relu(x: Tensor) -> Tensor:
    """max(0, x)², of any shape."""
    from blocks.model.kernels import SquaredReLU

    return SquaredReLU.apply(x)  # type: ignore[no-untyped-call]


@lru_cache(maxsize=1)
def _has_kernels() -> bool:
    """Tried once: Triton, a compiler for it, or what it knows of the card may be missing."""
    try:
        x = torch.ones(1, 1, 1, 2, device="cuda")
        squared_relu(normed(turned(x, x[0, 0, :, :1], x[0, 0, :, :1]), 0.0))
    except Exception:
        return False
    return True
