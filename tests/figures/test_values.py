"""The values of one stage."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from drawn import checked, marked, same, stages, visible, words_that_slipped_by

from pages.figures import palette
from pages.figures.theme import faint
from pages.panels.block import stage_picture

HISTOGRAM = pd.DataFrame({"value": [-1.0, 0.0, 1.0], "share": [0.25, 0.5, 0.25]})
FEATURES = pd.DataFrame({"dimension": [0, 1], "before": [0.5, -0.5], "after": [1.5, -1.5]})


def stage() -> pd.Series:
    return stages().set_index("stage").loc["attention_out"]


def spread(_=same) -> go.Figure:
    return checked(stage_picture.spread(HISTOGRAM, stage(), _=_))


def before_after(_=same, token: str = "<given>") -> go.Figure:
    names = ("given 1", "given 2")
    picture = stage_picture.before_after(FEATURES, part="attention", token=token, names=names, _=_)
    return checked(picture)


def test_bars_are_the_shares_in_the_colour_of_the_part():
    (bars,) = spread().data
    assert (list(bars.x), list(bars.y)) == (list(HISTOGRAM["value"]), list(HISTOGRAM["share"]))
    assert bars.marker.color == palette.ATTENTION
    assert spread().layout.bargap == 0


def test_mean_and_deviation_are_marked():
    mean, std = stage()["mean"], stage()["std"]
    assert [shape.x0 for shape in spread().layout.shapes] == [mean, mean - std, mean + std]
    assert [note.text for note in spread().layout.annotations] == ["mean", "− std", "+ std"]


def test_both_sides_of_a_stage_stand_side_by_side():
    before, after = before_after().data
    assert (list(before.y), list(after.y)) == ([0.5, -0.5], [1.5, -1.5])
    assert (before.name, after.name) == ("given 1", "given 2")
    assert (before.marker.color, after.marker.color) == (
        faint(palette.BEFORE, 0.7),
        palette.ATTENTION,
    )
    assert before_after().layout.barmode == "group"


def test_axes_are_named():
    assert spread().layout.xaxis.title.text == "value"
    assert spread().layout.yaxis.title.text == "share of values"
    assert before_after().layout.yaxis.title.text == "value"
    assert "feature" in before_after().layout.xaxis.title.text


@pytest.mark.parametrize("token", ["<b>", "&lt;", "x" * 100])
def test_a_token_in_a_title_is_short_text(token: str):
    title = before_after(token=token).layout.title.text
    assert "<" not in title and len(title) < 60
    assert token[:1] != "&" or "&amp;lt;" in title


def test_a_stage_without_spread_can_be_drawn():
    flat = stage().replace({stage()["std"]: 0.0})
    one = pd.DataFrame({"value": np.zeros(3), "share": [1.0, 0.0, 0.0]})
    assert checked(stage_picture.spread(one, flat, _=same)).data


def test_every_word_is_translated():
    assert (
        words_that_slipped_by(spread(marked))
        == words_that_slipped_by(before_after(marked))
        == set()
    )
    assert "given 3 &lt;b&gt;" in "".join(visible(spread()))
