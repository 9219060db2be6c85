"""Short times, and speeds, as people read them."""

from pages.ui.cost import amounts


def duration(seconds: float) -> str:
    """In the unit that gives few digits: 3.2 µs, 41 ms, 2.5 s."""
    for scale, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= scale:
            return f"{amounts.rounded(seconds / scale)} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def flop_rate(flops_per_s: float) -> str:
    """FLOPs a second: 81.2 GFLOP/s."""
    return f"{amounts.flops(flops_per_s)}/s"


def byte_rate(bytes_per_s: float) -> str:
    """Bytes a second: 26.4 GB/s, in steps of a thousand as data sheets have it."""
    return f"{amounts.in_bytes(bytes_per_s)}/s"
