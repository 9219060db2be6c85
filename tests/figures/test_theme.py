"""What all pictures share."""

import json
import re
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest
from drawn import raw
from hypothesis import given
from hypothesis import strategies as st

from pages.figures import palette, theme
from pages.figures.large import GROWTH, enlarged


@given(st.text())
def test_text_in_a_picture_is_never_markup(text: str):
    shown = theme.plain(text)
    assert "<" not in shown and ">" not in shown
    assert shown.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") == text


@given(st.text(max_size=40))
def test_a_token_is_as_short_as_a_label(text: str):
    shown = theme.token_label(text)
    assert len(shown.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")) <= 14
    assert len(text) > 14 or shown == theme.plain(text)


def test_a_colour_has_one_role():
    roles = (
        palette.RESIDUAL,
        palette.ATTENTION,
        palette.FEED_FORWARD,
        palette.NORM,
        palette.EMBEDDING,
        palette.PINNED,
        palette.BEFORE,
        palette.LEARNED,
        palette.HELD_OUT,
    )
    assert len(set(roles)) == len(roles)


def test_larger_weights_are_stronger():
    at = [weight for weight, _ in palette.WEIGHTS]
    alpha = [float(color.split(",")[-1].rstrip(")")) for _, color in palette.WEIGHTS]
    assert (at[0], at[-1]) == (0, 1)
    assert at == sorted(at) and alpha == sorted(alpha)


def test_a_picture_leaves_background_and_text_to_the_page():
    layout = raw(theme.figure([{"type": "bar", "y": [1]}], title="a"))["layout"]
    assert not {"paper_bgcolor", "plot_bgcolor", "font"} & layout.keys()
    assert layout["dragmode"] is False


PARTS = [
    {"type": "heatmap", "z": np.eye(3, dtype=np.uint8), "text": None, "textfont": {"size": 9}},
    {"type": "scatter", "x": (1, 2), "y": [None, np.nan], "marker": {"color": np.arange(2.0)}},
]


def test_what_is_sent_is_what_plotly_would_send():
    picture = theme.figure(PARTS, yaxis={"tickvals": [1], "range": None}, **theme.legend())
    theirs = go.Figure(picture.parts["data"], picture.parts["layout"], _validate=False)
    theirs.update_layout(font_color="#123456")
    theirs.update_traces(textfont_color="#123456", selector={"type": "heatmap"})
    assert json.loads(picture.written_in("#123456").to_json()) == json.loads(theirs.to_json())
    assert "font" not in picture.sent["layout"]


def test_plotlys_own_objects_are_there_to_be_looked_at():
    picture = theme.figure(PARTS, title="A title")
    assert picture.layout.title.text == "A title"
    assert picture.data[0].zmin is None and picture.data[1].x == (1, 2)


def test_a_picture_is_sent_as_it_was_first_sent():
    picture = theme.figure([{"type": "heatmap", "z": np.eye(3, dtype=np.uint8)}])
    assert picture.to_dict() is picture.to_dict()
    assert picture.to_dict()["data"][0]["z"]["dtype"] == "u1"


def test_faint_keeps_the_hue():
    assert theme.faint("#0072B2", 0.5) == "rgba(0, 114, 178, 0.5)"


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64])
def test_small_is_four_bytes_a_number(kind: type):
    assert theme.small(np.ones(3, dtype=kind)).dtype == np.float32


@pytest.mark.parametrize("height", [150, 450, 900])
def test_a_legend_begins_below_the_title_and_grows_with_it(height: int):
    drawn = theme.figure([], title="Title", height=height, **theme.legend())
    for picture, title in ((drawn, theme.TITLE), (enlarged(drawn), theme.TITLE * GROWTH)):
        legend = picture.layout.legend
        assert (legend.yref, legend.yanchor) == ("container", "top")
        assert (1 - legend.y) * picture.layout.height == pytest.approx(title)


def test_a_legend_that_has_a_place_of_its_own_stays_there():
    own = {"x": 0.01, "y": 0.99, "yanchor": "top"}
    drawn = theme.figure([], showlegend=True, legend=own)
    assert drawn.layout.legend.to_plotly_json() == own
    assert enlarged(drawn).layout.legend.y == 0.99


def test_another_layout_makes_another_picture():
    one = theme.figure([], title="title", height=100)
    other = one.with_layout(height=200)
    assert [each.sent["layout"]["height"] for each in (one, other)] == [100, 200]


def test_nobody_writes_into_the_view_of_a_picture():
    """What is written there, or changed by a method of it, is not sent."""
    writes = re.compile(r"\.(layout|data)(\.\w+|\[[^\]]*\])+( [-+*/|]?= |\()")
    written = (".layout.title.text = 1", ".data[0].x = 1", ".layout[key] |= {}", ".data[0].update(")
    assert all(map(writes.search, written)) and not writes.search("if facts.layout.tensor == 1:")
    files = [path for path in Path("pages").rglob("*.py") if path.name != "theme.py"]
    assert [f for f in files if writes.search(f.read_text())] == []


def test_on_a_phone_a_long_title_makes_room_for_the_tools_above_it():
    short, long = (theme.figure([], title=text, height=300) for text in ("Loss", "word " * 9))
    legend = theme.figure([], title="长" * 20, height=300, **theme.legend())
    assert short.below_its_tools() is short
    lower = long.below_its_tools().layout
    assert (lower.height, lower.margin.t, lower.title.pad.t) == (328, theme.TITLE + 28, 32)
    before, after = legend.layout, legend.below_its_tools().layout
    from_top = [(1 - each.legend.y) * each.height for each in (before, after)]
    assert from_top[1] == pytest.approx(from_top[0] + 28)
