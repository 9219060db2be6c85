"""Numbers of parameters and their bytes, as people read them."""

from pages.ui.numbers import percent

UNITS = ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "k"))
LARGEST_EXACT = 2**53  # beyond it a browser's numbers have gaps


def short(count: float) -> str:
    """With three digits and a unit: 124 M, 6.74 B."""
    for unit, letter in UNITS:
        if abs(count) >= unit:
            return f"{count / unit:.3g} {letter}"
    return f"{count:,.0f}"


def signed(count: int) -> str:
    """Every digit, with its sign; none is 0."""
    return f"{count:+,}".replace("-", "−") if count else "0"


def share(count: int, total: int) -> str:
    """A share as it can be read; exact division, however large both are."""
    return percent(count / total) if total else percent(0)


def column(counts: list[int]) -> list:
    """Counts for a table: numbers where a browser holds them exactly, else text."""
    return counts if max(counts, default=0) < LARGEST_EXACT else [f"{n:,}" for n in counts]
