"""One unit a quantity: FLOPs and seconds with the prefix that gives few digits."""

import pytest
from drawn import same

from pages.figures import units


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        (units.flops(875.2e9), "875 GFLOP"),
        (units.flops(12), "12 FLOP"),
        (units.duration(3.2e-6), "3.2 µs"),
        (units.duration(2.5), "2.5 s"),
        (units.duration(5e-10), "0.5 ns"),
        (units.long_duration(30, _=same), "30 s"),
        (units.long_duration(90, _=same), "2 min"),
        (units.long_duration(3600, _=same), "1 hour"),
        (units.long_duration(36 * 3600, _=same), "1.5 days"),
        (units.long_duration(400 * units.YEAR, _=same), "400 years"),
    ],
)
def test_numbers_are_said_in_their_unit(said: str, wanted: str):
    assert said == wanted
