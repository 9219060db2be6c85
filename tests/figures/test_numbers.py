"""Numbers as people read them."""

import pytest

from pages.figures.numbers import hundredths, mean_and_std, readable, with_unit


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
        (float("inf"), "∞"),
        (float("-inf"), "-∞"),
        (float("nan"), "NaN"),
        (1.65e-8, "1.65 × 10⁻⁸"),
        (-2e12, "-2 × 10¹²"),
    ],
)
def test_three_digits_and_no_e(number: float, text: str):
    assert readable(number) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0.00"),
        (1.005, "1.00"),
        (0.1, "0.10"),
        (0.0064, "0.0064"),
        (0.0009, "9 × 10⁻⁴"),
        (-0.001, "-0.001"),
    ],
)
def test_two_decimals_that_never_hide_a_number(number: float, text: str):
    assert hundredths(number) == text


@pytest.mark.parametrize(
    ("mean", "std", "text"),
    [
        (0.5, 1.25, "0.50 ± 1.25"),
        (-0.001, 0.5, "0.00 ± 0.50"),
        (-0.02, 0.5, "−0.02 ± 0.50"),
        (0.00021, 0.0034, "0.0002 ± 0.0034"),
        (3, 0, "3.00 ± 0.00"),
    ],
)
def test_a_mean_is_as_fine_as_what_is_around_it(mean: float, std: float, text: str):
    assert mean_and_std(mean, std) == text


@pytest.mark.parametrize(
    ("unit", "text"),
    [("%", "67.2%"), ("×", "67.2×"), ("倍", "67.2 倍"), ("GB", "67.2 GB"), ("", "67.2")],
)
def test_a_sign_stands_at_its_number_and_a_word_apart(unit: str, text: str):
    assert with_unit("67.2", unit) == text
