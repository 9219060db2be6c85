"""Numbers as people read them, in pictures and in prose."""

from math import floor, inf, isfinite, log10

LEAST, MOST_PLAIN = 0.001, 1e6
SIGNS = ("", "%", "×")
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def readable(number: float) -> str:
    """Three digits, or all of a whole part; powers of ten where it is tiny or huge: 1.65 × 10⁻⁸.

    What is not finite: ∞, -∞, NaN.
    """
    if not isfinite(number):
        return {inf: "∞", -inf: "-∞"}.get(number, "NaN")
    size = abs(number)
    if size and not MOST_PLAIN > size >= LEAST:
        digits, power = f"{number:.2e}".split("e")
        return f"{float(digits):g} × 10{str(int(power)).translate(RAISED)}"
    return f"{number:,.0f}" if size >= 999.5 else f"{number:.3g}"


def with_unit(number: str, unit: str) -> str:
    """A sign stands at its number in every language: 67.2%, 4.07×; a word or a symbol apart."""
    return f"{number}{unit}" if unit in SIGNS else f"{number} {unit}"


def hundredths(number: float) -> str:
    """Two decimals; of a number below a tenth two digits that are not nought: 0.0034."""
    if not number or abs(number) >= 0.1:
        return f"{number:.2f}"
    return f"{number:.2g}" if abs(number) >= LEAST else readable(number)


def mean_and_std(mean: float, std: float) -> str:
    """Both to two digits of the standard deviation, two decimals at least: 0.0002 ± 0.0034."""
    n_decimals = min(6, 1 - floor(log10(std))) if 0 < std < 0.1 else 2
    rounded = round(mean, n_decimals) + 0.0  # no minus before a nought
    return f"{rounded:.{n_decimals}f} ± {std:.{n_decimals}f}".replace("-", "−")
