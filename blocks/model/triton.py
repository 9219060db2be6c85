"""What kernels of our own are written in: Triton, which torch brings for CUDA alone."""

from types import SimpleNamespace
from typing import Any

try:
    import triton.language as tl
    from triton import jit, next_power_of_2
except ImportError:  # then nobody calls them
    tl = SimpleNamespace(constexpr=int)

    def jit(kernel: Any = None, **_how: Any) -> Any:
        """Leave it as it is."""
        return kernel or jit

    def next_power_of_2(n: int) -> int:
        """The least one that is not below n."""
        return 1 << (n - 1).bit_length()


__all__ = ["jit", "next_power_of_2", "tl"]
