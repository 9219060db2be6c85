"""The values of one stage."""

import pandas as pd
import plotly.graph_objects as go
import pytest
from drawn import checked, stages, visible

from pages.figures import palette
from pages.figures.drawn_chart import drawn
from pages.figures.theme import faint
from pages.panels.block import stage as panel
from pages.panels.block.stage import Values

HISTOGRAM = pd.DataFrame({"value": [-1.0, 0.0, 1.0], "share": [0.25, 0.5, 0.25]})
FEATURES = pd.DataFrame({"dimension": [0, 1], "before": [0.5, -0.5], "after": [1.5, -1.5]})


def stage() -> pd.Series:
    return stages().set_index("stage").loc["attention_out"]


def spread() -> go.Figure:
    return checked(drawn(panel.spread(Values(HISTOGRAM, stage()))))


def before_after(token: str = "<given>") -> go.Figure:
    return checked(drawn(panel.token_values(Values(FEATURES, stage(), "given 1", token))))


def test_shares_and_moments_are_marked_in_the_colour_of_the_part():
    (bars,) = spread().data
    assert (list(bars.x), list(bars.y)) == (list(HISTOGRAM["value"]), list(HISTOGRAM["share"]))
    assert bars.marker.color == palette.ATTENTION
    mean, std = stage()["mean"], stage()["std"]
    assert [shape.x0 for shape in spread().layout.shapes] == [mean - std, mean, mean + std]
    assert [note.text for note in spread().layout.annotations] == ["− std", "mean", "+ std"]
    assert "given 3 &lt;b&gt;" in "".join(visible(spread()))


def test_both_sides_of_a_stage_stand_side_by_side():
    before, after = before_after().data
    assert (list(before.y), list(after.y)) == ([0.5, -0.5], [1.5, -1.5])
    assert before.name == "given 1" and after.marker.color == palette.ATTENTION
    assert before.marker.color == faint(palette.BEFORE, 0.7)


@pytest.mark.parametrize("token", ["<b>", "&lt;", "x" * 100])
def test_a_token_in_a_title_is_short_text(token: str):
    title = before_after(token=token).layout.title.text
    assert "<" not in title and len(title) < 60
    assert token[:1] != "&" or "&amp;lt;" in title
