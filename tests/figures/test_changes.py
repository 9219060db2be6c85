"""Pictures of what a change inside the model does."""

import numpy as np
import pandas as pd
import pytest
from drawn import TOKENS, bytes_sent, checked, marked, raw, same, words_that_slipped_by

from pages.panels import interventions_picture

MOVED = [0.0, 0.5, 0.25, 0.0, 2.0]
TABLE = pd.DataFrame(
    {
        "label": ["given <b>", "given &"],
        "p_before": [0.75, 0.125],
        "p_after": [0.5, 0.25],
        "delta_logit": [-1.5, 0.5],
    }
)
EFFECT = np.array([[0.5, 2.0, np.nan], [0.0, 0.125, np.nan]], dtype=np.float32)
NAMES = tuple(f"given {i}" for i in range(6))
CELLS = interventions_picture.Cells(EFFECT, ("0", "1", "given"), NAMES, (0, 1, 2, 4, 5, 6), (5,))
SAID = {"title": "given", "across": "given", "unit": "given"}


def pictures(_):
    return [
        interventions_picture.tokens(MOVED, TOKENS, unit="given", pinned=4, _=_),
        interventions_picture.candidates(TABLE, token=TOKENS[1], _=_),
        interventions_picture.grid(CELLS, **SAID, _=_),
        interventions_picture.grid(CELLS._replace(effect=-EFFECT), **SAID, is_signed=True, _=_),
    ]


@pytest.mark.parametrize("i", range(4))
def test_every_word_is_translated_and_every_property_is_known(i: int):
    assert words_that_slipped_by(pictures(marked)[i]) == set()
    checked(pictures(same)[i])


def test_each_bar_is_how_far_its_token_moved():
    picture = raw(interventions_picture.tokens(MOVED, TOKENS, unit="bits", pinned=4, _=same))
    assert picture["data"][0]["y"] == MOVED
    assert [row[0] for row in picture["data"][1]["customdata"]] == list(range(len(TOKENS)))
    outlined = picture["layout"]["shapes"][0]
    assert (outlined["x0"], outlined["x1"]) == (3.5, 4.5)


def test_nothing_moved_is_a_picture_too():
    checked(interventions_picture.tokens([0.0], TOKENS[:1], unit="bits", pinned=0, _=same))


def test_each_candidate_goes_from_its_probability_before_to_that_after():
    joined, before, after = raw(interventions_picture.candidates(TABLE, token="a", _=same))["data"]
    assert joined["x"] == [0.75, 0.5, None, 0.125, 0.25, None]
    assert (before["x"], after["x"]) == ([0.75, 0.125], [0.5, 0.25])


@pytest.mark.parametrize(("factor", "end"), [(1e-3, 1e-3), (0.01, 0.05), (1, 1)])
def test_small_probabilities_of_random_weights_have_an_axis_of_their_own(factor: float, end: float):
    small = TABLE.assign(p_before=factor, p_after=factor / 2)
    axis = raw(interventions_picture.candidates(small, token="a", _=same))["layout"]["xaxis"]
    assert axis["range"] == pytest.approx([-0.02 * end, 1.08 * end])


def test_a_click_on_a_cell_returns_the_number_of_its_part():
    picture = raw(interventions_picture.grid(CELLS, **SAID, _=same))
    heat, marks = picture["data"]
    assert heat["zmax"] == 2
    assert [row[0] for row in marks["customdata"]] == [0, 1, 4, 5]
    assert "given 4: 0.125 given" in marks["hovertext"]
    assert [(shape["x0"], shape["y0"]) for shape in picture["layout"]["shapes"]] == [(0.5, 0.5)]


def of_all(effect: np.ndarray) -> interventions_picture.Cells:
    rows, n = effect.shape[0], effect.size
    columns = tuple(map(str, range(effect.shape[1])))
    return interventions_picture.Cells(effect, columns, ("head",) * n, tuple(range(n)), (rows,))


def test_of_many_layers_heads_and_whole_parts_are_one_picture_and_the_strongest_are_written():
    effect = np.zeros((30, 3), dtype=np.float32)
    effect[23, 1], effect[24, 2], effect[3, 0] = 2.86, -1.07, 0.01
    heads = of_all(effect)
    parts = of_all(10 * effect[:, :2])._replace(numbers=(*range(90, 150),), marked=(136,))
    picture = interventions_picture.deep(heads, parts, title="t", unit="u", is_signed=True, _=same)
    checked(picture)
    drawn = raw(picture)
    said = {(note["x"], note["y"]): note["text"] for note in drawn["layout"]["annotations"]}
    assert said == {(23, 1): "2.9", (24, 2): "-1.1", (23, 4.6): "29"}
    of_heads, of_parts = drawn["data"][2:]
    assert (of_heads["x"][0], of_heads["y"][:3]) == (0, [0, 1, 2])
    at = [of_parts["x"], of_parts["y"], [row[0] for row in of_parts["customdata"]]]
    assert (23, 4.6, 137) in set(zip(*at, strict=True))
    heat = raw(interventions_picture.deep(heads, parts, title="t", unit="u", _=same))["data"][1]
    assert heat["colorbar"]["ticktext"] == ["0", "29"]


def test_many_parts_stay_small():
    effect = np.random.default_rng(0).random((48, 26)).astype(np.float32)
    picture = interventions_picture.grid(of_all(effect), **SAID, _=same)
    assert bytes_sent(picture) < 200_000
    assert not picture.layout.annotations


def test_numbers_of_parts_fit_into_a_cell_of_a_phone():
    effect = np.array([[0.0, 0.00086, 0.0098], [0.038, 7.12, -12.4]])
    picture = interventions_picture.grid(of_all(effect), **SAID, _=same)
    said = [note.text for note in picture.layout.annotations]
    assert said == ["0", "&lt;.001", "0.01", "0.038", "7.1", "-12"]
