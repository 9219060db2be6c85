"""The losses of placements that are trained side by side."""

import pandas as pd
from drawn import checked, marked, words_that_slipped_by

from blocks.training.race import GUESS, RaceFacts
from pages.panels.normalization.race_picture import losses

CURVES = pd.DataFrame(
    {"placement": ["pre"] * 3 + ["post"] * 2, "update": [1, 2, 3, 1, 2], "loss": [3, 2, 1, 3, 3.2]}
)
NAMES = {"pre": "given1", "post": "given2"}


def picture():
    ends = (("pre", 1.0), ("post", 3.2))
    return losses(RaceFacts(None, 3, 100, CURVES, ends, ("post",)), NAMES, _=marked)


def test_a_curve_a_placement_and_the_level_of_guessing():
    drawn = checked(picture())
    assert [trace["y"] for trace in drawn["data"]] == [(3, 2, 1), (3, 3.2)]
    assert drawn["layout"]["shapes"][0]["y0"] == GUESS
    assert drawn["layout"]["xaxis"]["range"] == (0, 100)


def test_every_word_is_translated():
    assert words_that_slipped_by(picture()) == set()
