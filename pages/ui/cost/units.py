"""Times and speeds as people read them."""


def duration(seconds: float) -> str:
    """In the unit that gives few digits: 3.2 µs, 41 ms, 2.5 s."""
    for scale, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def flop_rate(flops_per_s: float) -> str:
    """FLOPs a second: 81.2 GFLOP/s."""
    return f"{scaled(flops_per_s)}FLOP/s"


def byte_rate(bytes_per_s: float) -> str:
    """Bytes a second: 26.4 GB/s, in units of 1000 as data sheets have it."""
    return f"{scaled(bytes_per_s)}B/s"


def scaled(value: float) -> str:
    """Three digits and a prefix, with the space before the unit: 81.2 G."""
    for scale, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= scale:
            return f"{value / scale:.3g} {prefix}"
    return f"{value:.3g} "
