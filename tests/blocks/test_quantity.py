"""Numbers as people type them."""

import pytest

from blocks.cost.quantity import quantity, written
from blocks.model.faults import ConfigError


def test_units_mean_what_people_mean():
    typed = {
        "1e19": 1e19,
        "1E19 FLOPs": 1e19,
        "300B": 3e11,
        " 1.5 T tokens": 1.5e12,
        "80 GiB": 80 * 2**30,
        "80GB": 8e10,
        "989.4 TFLOP/s": 9.894e14,
        "40%": 0.4,
        "419,430,400,000": 419_430_400_000,
        "３０００亿": 3e11,
        "1.5万亿": 1.5e12,
        ".5": 0.5,
        "24 h": 24,
    }
    assert {text: quantity(text) for text in typed} == pytest.approx(typed, rel=1e-15)


@pytest.mark.parametrize("text", ["", "many", "12 apples", "1e999", "-3", "1..2", "nan"])
def test_what_is_no_number_gives_a_sentence(text: str):
    with pytest.raises(ConfigError, match="is not a number: write one such as 1e19"):
        quantity(text)


def test_what_is_written_can_be_typed_again():
    for value in (1e19, 3e11, 1_400_000_001, 419_430_400_000, 1024, 0.4, 2.73549312e20, 1.5e12):
        assert quantity(written(value)) == value
    assert [*map(written, (1e19, 3e11, 2048, 0.35))] == ["1e19", "300B", "2,048", "0.35"]
