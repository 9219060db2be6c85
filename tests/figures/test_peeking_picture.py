"""Losses of a GPT with its mask and without."""

import pandas as pd
from drawn import checked, marked, words_that_slipped_by

from blocks.training.peeking import Peeking
from blocks.training.recorded import Look
from pages.panels.masks.peeking_picture import COLORS, losses

CURVES = pd.DataFrame(
    {"model": ["masked"] * 2 + ["peeking"] * 2, "update": [1, 2, 1, 2], "loss": [7, 3, 7, 0.5]}
)
WRITING = pd.DataFrame({"model": ["masked", "peeking"], "update": [0, 0], "loss": [6.9, 6.8]})
NAMES = {"masked": "given1", "peeking": "given2"}


def picture():
    look = Look(0, 6.9, 0.0, "given")
    facts = Peeking(2, 3.0, 0.5, look, look, CURVES, WRITING, guess=6.9)
    return losses(facts, NAMES, _=marked)


def test_two_curves_a_model_in_its_colour():
    traces = checked(picture())["data"]
    assert [trace["y"] for trace in traces] == [(7, 3), (7, 0.5), (6.9,), (6.8,)]
    assert [trace["line"]["color"] for trace in traces] == [*COLORS.values()] * 2
    assert [trace["line"]["dash"] for trace in traces] == ["solid"] * 2 + ["dot"] * 2
    assert len({trace["name"] for trace in traces}) == 4


def test_the_axes_have_room_for_all_of_it_and_name_the_guess():
    layout = checked(picture())["layout"]
    assert layout["xaxis"]["range"] == (0, 120) and layout["yaxis"]["range"][1] > 7
    assert layout["shapes"][0]["y0"] == 6.9


def test_every_word_is_translated():
    assert words_that_slipped_by(picture()) == set()
