"""Numbers as people read them."""

import pytest

from pages.ui.numbers import readable


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (0.5, "0.5"),
        (1.234, "1.23"),
        (-12.34, "-12.3"),
        (999.9, "1,000"),
        (1234.5, "1,234"),
        (999_999, "999,999"),
        (1.65e-8, "1.65 × 10⁻⁸"),
        (-2e12, "-2 × 10¹²"),
    ],
)
def test_three_digits_and_no_e(number: float, text: str):
    assert readable(number) == text
