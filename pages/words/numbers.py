"""Shares as people read them."""

LEAST = 0.001


def fine_percent(share: float) -> str:
    """A share to compare with another: a tenth of a percent, of less than one two digits."""
    return f"{share:.1%}" if share >= 0.01 or share == 0 else f"{100 * share:.2g}%"


def percent(share: float) -> str:
    """A share with as many digits as it needs; a tiny one is said to be tiny, not nought.

    So is what a share lacks of the whole.
    """
    if 0 < share < LEAST:
        return f"<\N{NO-BREAK SPACE}{LEAST:.1%}"
    if 0.995 <= share < 1:
        return f"{share:.1%}" if share < 1 - LEAST / 2 else f">\N{NO-BREAK SPACE}{1 - LEAST:.1%}"
    return f"{share:.0%}" if share >= 0.1 or share == 0 else f"{share:.1%}"
