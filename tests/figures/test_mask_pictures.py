"""Masks and leaks as pictures: forbidden is hatched, a leak is seen, no number is not drawn."""

import numpy as np
import pytest
from drawn import TOKENS, checked, marked, same, visible, words_that_slipped_by

from pages.figures import palette
from pages.figures.marks import points_of
from pages.figures.token_matrix import Names
from pages.panels.masks import leaks_picture, steps_picture

N = len(TOKENS)
OPEN = np.tri(N, dtype=bool)
VALUES = np.where(OPEN, np.arange(1.0, N * N + 1).reshape(N, N), 0.0)
NAMES = Names("given", "given", "given", TOKENS, TOKENS)


def leak_map(values: np.ndarray = VALUES, _=same, **more):
    return leaks_picture.leak_map(values, ~OPEN, NAMES, unit="given", _=_, **more)


def pattern(values: np.ndarray, _=same):
    return steps_picture.pattern_map(values, OPEN, TOKENS, TOKENS, pinned=1, _=_)


def pictures(_):
    rows = np.stack([np.zeros(N), np.full(N, 1 / N), np.full(N, np.nan)])
    return [
        leak_map(_=_),
        leak_map(np.where(OPEN, VALUES, 3.0), _=_, pinned=2),
        leak_map(np.where(OPEN, np.nan, np.inf), _=_),
        pattern(OPEN / N, _=_),
        steps_picture.mask_map(OPEN, TOKENS, TOKENS, pinned=1, can_paint=True, _=_),
        steps_picture.score_map(VALUES - 3, TOKENS, TOKENS, pinned=1, _=_),
        steps_picture.score_map(np.full((N, 3), -np.inf), TOKENS, TOKENS[:3], _=_),
        steps_picture.blind_row(rows, ["given"] * 3, TOKENS, title="given", _=_),
    ]


def test_every_word_is_translated_and_every_property_is_plotlys():
    for picture in pictures(marked):
        checked(picture)
        assert words_that_slipped_by(picture) == set()


def cells(trace) -> set[tuple[int, int]]:
    return {(int(row), int(column)) for row, column, *_value in trace.customdata}


def said(picture, words: str) -> set[tuple[int, int]]:
    """The cells that say this under the cursor."""
    found = [trace for trace in picture.data[1:] if words in trace.hovertemplate]
    return set().union(*map(cells, found))


FORBIDDEN = {(i, j) for i in range(N) for j in range(N) if j > i}


def test_a_clean_model_is_blue_and_hatched():
    picture = leak_map()
    assert said(picture, "exactly 0") == FORBIDDEN
    assert said(picture, "LEAK") == set()
    assert (picture.data[0].z[~OPEN] == leaks_picture.FORBIDDEN).all()
    assert (picture.data[0].z[OPEN] >= leaks_picture.ALLOWED[0]).all()
    assert "leak" not in " ".join(picture.data[0].colorbar.ticktext)


def test_a_leak_is_a_colour_of_its_own_and_a_cross():
    values = VALUES.copy()
    values[1, 4] = 1e-7
    picture = leak_map(values)
    assert said(picture, "LEAK") == {(1, 4)}
    assert picture.data[0].z[1, 4] >= leaks_picture.LEAKING[0]
    assert picture.data[0].zmax == leaks_picture.LEAKING[1]
    assert any("leak" in tick for tick in picture.data[0].colorbar.ticktext)


def test_larger_is_stronger():
    values = np.where(OPEN, 10.0 ** np.arange(N)[:, None], 0)
    z = leak_map(values).data[0].z.astype(int)
    assert (np.diff(z[:, 0]) > 0).all()


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_what_is_no_number_is_said_and_not_drawn(number: float):
    values = VALUES.copy()
    values[2, 0] = values[0, 4] = number
    picture = leak_map(values)
    assert said(picture, "NaN") == {(2, 0), (0, 4)}
    assert picture.data[0].z[0, 4] == leaks_picture.FORBIDDEN


def test_a_weight_in_a_forbidden_cell_is_drawn():
    weights = OPEN / N
    weights[0, 3] = 0.5
    picture = pattern(weights)
    assert (0, 3) in said(picture, "weight %")
    assert (0, 3) not in said(picture, "forbidden")


def test_a_painted_cell_says_that_it_can_be_clicked():
    for can_paint in (True, False):
        picture = steps_picture.mask_map(OPEN, TOKENS, TOKENS, can_paint=can_paint, _=same)
        assert said(picture, "click") == (set(np.ndindex(N, N)) if can_paint else set())
        assert said(picture, "forbidden") == FORBIDDEN


def test_a_row_that_is_no_number_has_the_words_and_no_colour():
    rows = np.stack([np.full(N, 1 / N), np.full(N, np.nan)])
    picture = steps_picture.blind_row(rows, ["a", "b"], TOKENS, title="t", _=same)
    assert (picture.data[0].z[1] == 0).all()
    assert any("NaN" in text for text in visible(picture))
    assert not any("nan" in text for text in visible(picture))


@pytest.mark.parametrize("n", [1, 30, 60, 256])
def test_only_charts_that_are_clicked_need_webgl(n: int):
    tokens, square = ["x"] * n, np.tri(n)
    clicked = steps_picture.mask_map(square > 0, tokens, tokens, can_paint=True, _=same)
    quiet = steps_picture.pattern_map(square, square > 0, tokens, tokens, _=same)
    kinds = {trace.type for trace in clicked.data}
    assert kinds == {"heatmap", points_of(n * n)}
    assert {trace.type for trace in quiet.data} == {"heatmap", "scatter"}
    for picture in (clicked, quiet):
        checked(picture)


def test_masked_is_the_grey_of_all_pictures():
    assert leak_map().data[0].colorscale[0][1] == palette.MASKED


def test_many_keys_of_equal_weight_have_one_number_a_row():
    n = 2 * steps_picture.NUMBERS_UP_TO
    rows = np.stack([np.full(n, 1 / n), np.linspace(0, 1, n), np.full(n, np.nan), np.zeros(n)])
    picture = steps_picture.blind_row(rows, ["a", "b", "c", "d"], ["x"] * n, title="t", _=same)
    texts = {note.y: note.text for note in picture.layout.annotations}
    assert texts == {0: "<b>each key: 0.036</b>", 2: "<b>NaN</b>", 3: "<b>each key: 0</b>"}
