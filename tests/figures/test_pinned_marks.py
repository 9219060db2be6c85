"""The mark of what is pinned stands at the name of what is pinned."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from drawn import TOKENS, raw, same
from test_gpt_pictures import lens_facts

from blocks.inspection.permuted import ReachFacts
from pages.figures.drawn_chart import drawn
from pages.figures.theme import Picture
from pages.panels.feed_forward import positions
from pages.panels.gpt import logit_lens_picture
from pages.panels.positions import position_matrix_picture


def marked(picture: Picture, axis: str) -> set[tuple[float, float]]:
    """From where to where the marks of a picture go along an axis."""
    shapes: list[dict[str, Any]] = raw(picture)["layout"]["shapes"]
    return {(each[f"{axis}0"], each[f"{axis}1"]) for each in shapes}


@pytest.mark.parametrize("pinned", [0, 12, 29])
def test_in_the_lens_the_row_whose_click_pins_it(pinned: int):
    picture = logit_lens_picture.grid(lens_facts(pinned=pinned), _=same)
    ((top, bottom),) = marked(picture, "y")
    row = int(top + 0.5)
    assert bottom - top == 1
    n_columns = len(raw(picture)["data"][0]["z"][0])
    assert raw(picture)["data"][1]["customdata"][row * n_columns] == [pinned]


def test_among_bars_the_ground_behind_its_own():
    moved = pd.DataFrame({"feed_forward": [0, 1.2, 0, 0, 0], "attention": [0, 1, 0.5, 0.3, 0.1]})
    chart = positions.reach(ReachFacts(TOKENS, 3, 1, moved, False, False))
    assert marked(drawn(chart), "x") == {(2.5, 3.5)}  # the fourth token


@pytest.mark.parametrize("pinned", [0, 2])
def test_among_positions_its_row(pinned: int):
    names = position_matrix_picture.Names("given", "given", "given", "given")
    picture = position_matrix_picture.square(np.eye(3), names, pinned=pinned, _=same)
    assert marked(picture, "y") == {(pinned - 0.5, pinned + 0.5)}
