"""FLOPs, bytes, tokens and hours as people read them, in steps of a thousand."""

from pages.ui.language import _

STEPS = ((1e24, "Y"), (1e21, "Z"), (1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"))
TOKEN_STEPS = ((1e12, "T"), (1e9, "B"), (1e6, "M"))
DAY, YEAR = 24, 24 * 365.25  # hours


def flops(count: float) -> str:
    """So many GFLOP."""
    return _in_steps(count, "FLOP")


def in_bytes(count: float) -> str:
    """So many GB, of 10⁹ bytes as on data sheets."""
    return _in_steps(count, "B")


def _in_steps(count: float, unit: str) -> str:
    for size, prefix in (*STEPS, (1e3, "k")):
        if abs(count) >= size:
            return f"{rounded(count / size)} {prefix}{unit}"
    return f"{count:.0f} {unit}"


def rounded(value: float) -> str:
    """Three digits, or as many as a whole number has."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def tokens(count: int) -> str:
    """A number of tokens in millions (M), billions (B), trillions (T), where it is round."""
    for size, name in TOKEN_STEPS:
        if count >= size:
            return f"{rounded(count / size)} {name}"
    return whole(count)


def whole(count: int) -> str:
    """Every digit of it, in threes."""
    return f"{count:,}"


def duration(hours: float) -> str:
    """Seconds, hours, days or years, whichever says most."""
    if hours < 1 / 60:
        return _("{n:.2g} s").format(n=3600 * hours)
    if hours < 1:
        return _("{n:.0f} min").format(n=60 * hours)
    if hours < DAY:
        return _("{n} hours").format(n=rounded(hours))
    if hours < YEAR:
        return _("{n} days").format(n=rounded(hours / DAY))
    return _("{n} years").format(n=rounded(hours / YEAR))
