"""Numbers in cells: white on dark, short, and left out where there is no room."""

import numpy as np
import pytest

from pages.panels.seq2seq.cell_numbers_picture import cell_numbers, few_signs


def test_dark_cells_have_white_numbers_and_the_others_those_of_the_theme():
    values = np.array([[0.1, 0.95], [np.nan, 0.5]])
    pale, dark = cell_numbers(values, values)
    assert pale["text"] == [".10", ".50"] and "color" not in pale["textfont"]
    assert dark["text"] == [".95"] and dark["textfont"]["color"] == "#ffffff"
    assert (dark["x"], dark["y"]) == ([1], [0])


def test_many_cells_have_smaller_numbers_or_none():
    sizes = [cell_numbers(np.zeros((n, n)), np.zeros((n, n))) for n in (8, 12, 15)]
    assert [each[0]["textfont"]["size"] for each in sizes[:2]] == [10, 8]
    assert sizes[2] == []


@pytest.mark.parametrize(
    ("x", "text"),
    [(0.664, ".66"), (0.997, "1.0"), (-0.25, "−.25"), (1.57, "1.6"), (12.3, "12"), (0.001, "0")],
)
def test_a_number_has_few_signs(x: float, text: str):
    assert few_signs(x) == text
