"""Names of keys over a matrix of scores: upright where those that are shown have room."""

import pytest

from pages.figures.matrix import Place
from pages.panels.attention.step_parts import BESIDE, Size, are_upright

HALF = Place(1, (0.0, 0.46), (0.0, 1.0))


@pytest.mark.parametrize(
    ("tokens", "is_upright"),
    [(["的₂"] * 26, True), (["的₂"] * 12, False), (["called"] * 26, False)],
)
def test_room_is_that_of_the_names_shown(tokens: list[str], is_upright: bool):
    assert are_upright(tokens, HALF, Size(*BESIDE)) is is_upright
