"""Shares as people read them."""

LEAST = 0.001


def percent(share: float) -> str:
    """A share with as many digits as it needs; a tiny one is said to be tiny, not nought."""
    if 0 < share < LEAST:
        return f"< {LEAST:.1%}"
    return f"{share:.0%}" if share >= 0.1 or share == 0 else f"{share:.1%}"
