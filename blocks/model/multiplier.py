"""A fixed factor, and nothing where it is 1."""

from torch import Tensor


def times(x: Tensor, factor: float) -> Tensor:
    """factor · x: any shape."""
    return x if factor == 1 else factor * x
