"""Where parameters are, what changes them, where they go, and how they are spread."""

import math

import pandas as pd
import pytest
from drawn import checked, marked, same, words_that_slipped_by

from blocks.cost.growth import GrowthFacts
from pages.figures import breakdown
from pages.figures.breakdown import Piece
from pages.panels.parameters import changes_picture, published_models_picture, weight_values_picture

LEVELS = [
    [Piece(0, 1000, "given <b>", "given <b>", "given", "", "")],
    [
        Piece(0, 1, "given", "given thin", "given", "norm", "norm"),
        Piece(1, 299, "given", "given", "given", "router", "router"),
        Piece(300, 700, "given", "given & given", "given", "output", "output"),
    ],
]


def pieces(_=same):
    return breakdown.rows(LEVELS, title=_("title"), _=_)


def test_pieces_are_as_wide_as_they_are_large_and_none_is_lost():
    top, below = checked(pieces()).data
    assert (top.base, top.x) == ((0.0,), (1.0,))
    assert below.base == (0.0, 0.001, 0.3)
    assert below.x == (0.001, 0.299, 0.7)
    assert all(width == 1 for width in (top.marker.line.width, below.marker.line.width))
    assert [row[0] for row in below.customdata] == ["norm", "router", "output"]


def test_text_on_a_piece_is_text_and_numbers_stand_where_there_is_room():
    top, below = pieces().data
    assert top.text == ("given &lt;b&gt;<br>given",)
    assert below.text == ("given", "given<br>given", "given<br>given")
    assert below.customdata[2][1] == "given &amp; given"


def test_every_size_can_be_drawn():
    huge = 7 * 10**30
    levels = [[Piece(0, huge, "a", "a", "a", "", "")], [Piece(0, huge, "a", "a", "a", "norm", "x")]]
    assert checked(breakdown.rows(levels, title="", _=same)).data[1].x == (1.0,)
    nothing = [[Piece(0, 0, "a", "a", "a", "", "")]]
    assert checked(breakdown.rows(nothing, title="", _=same)).data[0].x == (0.0,)


DELTAS = {"a": -(10**6), "b": 0, "c": 99, "d": 10**24}
CHANGED = {"a": "given <b>", "b": "given", "c": "given", "d": "given"}


def differences(_=same):
    return changes_picture.differences(DELTAS, CHANGED, dict.fromkeys(DELTAS, "given"), _=_)


def test_changes_go_to_their_side_of_zero_and_none_is_seen_as_none():
    picture = checked(differences())
    bars, nothing = picture.data
    assert bars.x == pytest.approx((-math.log10(1 + 10**6), 0, 2, 24))
    assert list(bars.customdata[0]) == ["a", "given &lt;b&gt;", "given"]
    assert (nothing.x, nothing.customdata[0][0]) == ((0,), "b")
    least, most = picture.layout.xaxis.range
    assert least < -6 and most > 24
    assert [note.xanchor for note in picture.layout.annotations] == [
        "left",
        "center",
        "right",
        "right",
    ]


GROWTH = pd.DataFrame(
    {
        "d_model": [8, 16, 32],
        "total": [1.0, 2e3, 3e19],
        "embeddings": [0.5, 0.25, 0.1],
        "attention": [0.2, 0.25, 0.3],
        "feed_forward": [0.3, 0.5, 0.6],
        "rest": [0.0, 0.0, 0.0],
    }
)


def growth(_=same):
    return changes_picture.over_width(GrowthFacts({"d_model": GROWTH}, {"d_model": 16}), _=_)


def test_shares_are_stacked_and_the_own_size_is_marked():
    picture = checked(growth())
    assert {trace.stackgroup for trace in picture.data} == {"all"}
    assert sum(trace.y[1] for trace in picture.data) == 1
    assert picture.layout.shapes[0].x0 == 16
    assert 16 in picture.layout.xaxis.tickvals


MODELS = pd.DataFrame(
    {
        "name_": ["small", "mixture", "large"],
        "title": ["given", "given <b>", "given"],
        "architecture": ["encoder", "gpt", "gpt"],
        "total": [10**6, 10**9, 10**12],
        "active": [10**6, 10**8, 10**12],
    }
)
KINDS = {"gpt": "given", "encoder": "given", "encoder-decoder": "given"}


def published(own: int = 10**7, _=same):
    return published_models_picture.dots(MODELS, KINDS, own=own, own_label="given", _=_)


def test_every_model_is_a_dot_that_leads_to_it():
    picture = checked(published())
    dots = {row[0]: x for t in picture.data[:3] for row, x in zip(t.customdata, t.x, strict=True)}
    assert dots == {"small": 10**6, "mixture": 10**9, "large": 10**12}
    active = picture.data[3]
    assert (active.x, active.marker.symbol) == ((10**8,), "circle-open")
    assert picture.layout.shapes[0].x0 == 10**7


@pytest.mark.parametrize("own", [0, 1, 10**20])
def test_the_axis_reaches_to_the_own_model(own: int):
    picture = checked(published(own))
    least, most = picture.layout.xaxis.range
    assert least < math.log10(max(1, own)) < most
    assert len(picture.layout.shapes) == bool(own)


MOMENTS = pd.DataFrame(
    {
        "kind": ["embedding", "norm", "router"],
        "label": ["given", "given", "given"],
        "mean": [0.0, 1.0, float("nan")],
        "std": [0.1, 0.0, float("nan")],
    }
)
BINS = pd.DataFrame(
    {
        "kind": ["embedding"] * 2 + ["norm"] * 2 + ["router"] * 2,
        "value": [-0.1, 0.1, 0.9, 1.1, 0.25, 0.75],
        "share": [0.5, 0.5, 0.0, 1.0, 0.0, 0.0],
    }
)


def spread(_=same):
    return weight_values_picture.panels(BINS, MOMENTS, _=_)


def test_each_kind_has_a_panel_with_mean_and_sigma():
    picture = checked(spread())
    first, second = picture.data  # what is no number has none
    assert (first.xaxis, second.xaxis) == ("x", "x2")
    assert [shape.x0 for shape in picture.layout.shapes] == [0.0, -0.1, 0.1, 1.0, 1.0, 1.0]
    domains = picture.layout.yaxis.domain, picture.layout.yaxis2.domain
    assert domains[0][0] > domains[1][1] > domains[1][0] >= 0


@pytest.mark.parametrize(
    "made",
    [
        pieces,
        growth,
        published,
        spread,
        differences,
    ],
)
def test_every_word_is_translated(made):
    assert words_that_slipped_by(made(_=marked)) <= {"sup", "d_model", "model"}
