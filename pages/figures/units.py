"""FLOPs, seconds and scores as people read them, in pictures, tables and prose."""

from blocks.cost.units import rounded, with_prefix
from pages.figures.theme import Translate

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86_400, 365.25 * 86_400  # seconds


def quality_text(value: float, *, is_share: bool) -> str:
    """A score as a share with a tenth of a percent where it has one, or a held-out loss."""
    return f"{value:.1%}".replace(".0%", "%") if is_share else f"{value:.3f}"


def flops(count: float) -> str:
    return f"{with_prefix(count)}FLOP"


def duration(seconds: float) -> str:
    """In the unit that gives few digits: 3.2 µs, 41 ms, 2.5 s."""
    for scale, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= scale:
            return f"{rounded(seconds / scale)} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def long_duration(seconds: float, *, _: Translate) -> str:
    """The same beyond a minute: minutes, hours, days or years, whichever says most."""
    if seconds < MINUTE:
        return duration(seconds)
    if seconds < HOUR:
        return _("{n:.0f} min").format(n=seconds / MINUTE)
    for unit, one, several in (
        (YEAR, _("1 year"), _("{n} years")),
        (DAY, _("1 day"), _("{n} days")),
        (HOUR, _("1 hour"), _("{n} hours")),
    ):
        if seconds >= unit:
            n = rounded(seconds / unit)
            return one if n == "1" else several.format(n=n)
    raise AssertionError
