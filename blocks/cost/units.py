"""Large and small numbers with the prefix of a unit, so that three digits say them."""

PREFIXES = [
    (1000.0**power, prefix) for power, prefix in zip(range(8, 0, -1), "YZEPTGMk", strict=True)
]
PREFIXES += [(1000.0**-power, prefix) for power, prefix in enumerate("mµn", start=1)]


def rounded(value: float) -> str:
    """Round to three digits, or to a whole number."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def with_prefix(count: float) -> str:
    """Write a number with the prefix of its unit: 26.4 G."""
    if abs(count) >= 1000 or 0 < abs(count) < 1:
        for size, prefix in PREFIXES:
            if abs(count) >= size:
                return f"{rounded(count / size)} {prefix}"
    return f"{rounded(count)} "


def bytes_text(count: float) -> str:
    """Bytes as people read them: 26.4 GB, of 10⁹ bytes as on data sheets."""
    return f"{with_prefix(count)}B"
