"""Numbers as people read them."""

LEAST, MOST_PLAIN = 0.001, 1e6
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def percent(share: float) -> str:
    """A share with as many digits as it needs; a tiny one is said to be tiny, not nought."""
    if 0 < share < LEAST:
        return f"< {LEAST:.1%}"
    return f"{share:.0%}" if share >= 0.1 or share == 0 else f"{share:.1%}"


def readable(number: float) -> str:
    """Three digits, or all of a whole part; powers of ten where it is tiny or huge: 1.65 × 10⁻⁸."""
    size = abs(number)
    if size and not MOST_PLAIN > size >= LEAST:
        digits, power = f"{number:.2e}".split("e")
        return f"{float(digits):g} × 10{str(int(power)).translate(RAISED)}"
    return f"{number:,.0f}" if size >= 999.5 else f"{number:.3g}"


def hundredths(number: float) -> str:
    """Two decimals; what would read as nought without being it has a digit of its own."""
    said = f"{number:.2f}"
    return said if float(said) or not number else readable(number)
