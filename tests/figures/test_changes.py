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
PARTS = ("0", "1", "given")


def pictures(_):
    return [
        interventions_picture.tokens(MOVED, TOKENS, unit="given", pinned=4, _=_),
        interventions_picture.candidates(TABLE, token=TOKENS[1], _=_),
        interventions_picture.grid(EFFECT, PARTS, unit="given", marked=[1], _=_),
    ]


@pytest.mark.parametrize("i", range(3))
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


def test_a_click_on_a_cell_returns_the_number_of_its_part():
    heat, marks = raw(interventions_picture.grid(EFFECT, PARTS, unit="bits", marked=[4], _=same))[
        "data"
    ]
    assert heat["zmax"] == 2
    assert [row[0] for row in marks["customdata"]] == [0, 1, 3, 4]
    assert "layer 2, 1: 0.125 bits" in marks["hovertext"]


def test_many_parts_stay_small():
    effect = np.random.default_rng(0).random((48, 26)).astype(np.float32)
    picture = interventions_picture.grid(
        effect, [str(i) for i in range(26)], unit="", marked=[], _=same
    )
    assert bytes_sent(picture) < 200_000
    assert not picture.layout.annotations


def test_numbers_of_parts_fit_into_a_cell_of_a_phone():
    effect = np.array([[0.0, 0.00086, 0.0098], [0.038, 7.12, 12.4]])
    picture = interventions_picture.grid(effect, "abc", unit="bits", marked=(), _=same)
    said = [note.text for note in picture.layout.annotations]
    assert said == ["0", "&lt;.001", "0.01", "0.038", "7.1", "12"]
