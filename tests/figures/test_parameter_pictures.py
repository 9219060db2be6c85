"""Where parameters are, what changes them, where they go, and how they are spread."""

import math

import pandas as pd
import pytest
from drawn import checked, marked, same, words_that_slipped_by

from blocks import PRESETS
from blocks.cost.breakdown import Kind
from blocks.cost.growth import GrowthFacts
from blocks.cost.published import Published, PublishedFacts
from blocks.inspection.weight_values import WeightValues
from blocks.model.kinds import Architecture
from pages.figures.described import described
from pages.panels.parameters import (
    breakdown_picture,
    changes_picture,
    published_models_picture,
    weight_values_picture,
)
from pages.panels.parameters.breakdown_picture import Bar

LEVELS = [
    [Bar(0, 1000, "given <b>", "given <b>", "given", None, "")],
    [
        Bar(0, 1, "given", "given thin", "given", Kind.NORM, "norm"),
        Bar(1, 299, "given", "given", "given", Kind.ROUTER, "router"),
        Bar(300, 700, "given", "given & given", "given", Kind.OUTPUT, "output"),
    ],
]


def pieces(_=same):
    return breakdown_picture.rows(LEVELS, _=_)


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


def test_what_is_opened_and_its_pieces_are_said():
    said = described(pieces(), _=same)
    assert "given <b> given; given thin given; given given; given & given given" in said


def test_every_size_can_be_drawn():
    huge = 7 * 10**30
    whole = Bar(0, huge, "a", "a", "a", None, "")
    levels = [[whole], [Bar(0, huge, "a", "a", "a", Kind.NORM, "x")]]
    assert checked(breakdown_picture.rows(levels, _=same)).data[1].x == (1.0,)
    nothing = [[Bar(0, 0, "a", "a", "a", None, "")]]
    assert checked(breakdown_picture.rows(nothing, _=same)).data[0].x == (0.0,)


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
        "mixer": [0.0, 0.0, 0.0],
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


def published_model(name: str, title: str, total: int, active: int, preset: str) -> Published:
    return Published(name, title, "given", PRESETS[preset], total, active)


MODELS = (
    published_model("small", "given", 10**6, 10**6, "bert-base"),
    published_model("mixture", "given <b>", 10**9, 10**8, "gpt2-small"),
    published_model("large", "given", 10**12, 10**12, "gpt2-small"),
)
KINDS = dict.fromkeys(Architecture, "given")


def published(own: int = 10**7, _=same):
    return published_models_picture.dots(PublishedFacts(MODELS, own), KINDS, _=_)


def test_every_model_is_a_dot_that_leads_to_it_and_the_own_one_stands_among_them():
    own, *named, active = checked(published()).data
    dots = {row[0]: x for t in named for row, x in zip(t.customdata, t.x, strict=True)}
    assert dots == {"small": 10**6, "mixture": 10**9, "large": 10**12}
    assert (active.x, active.marker.symbol) == ((10**8,), "circle-open")
    assert (own.x, own.y) == ((10**7,), (1,))
    assert sorted(y for trace in (own, *named) for y in trace.y) == [0, 1, 2, 3]


def test_every_model_and_the_own_one_are_said_with_their_size():
    said = described(published(), _=same)
    assert "given <b> 1,000,000,000; given 1,000,000,000,000" in said
    assert "active per token: given <b> 100,000,000" in said
    assert "yours 10,000,000" in said


@pytest.mark.parametrize("own", [0, 1, 10**20])
def test_the_axis_reaches_to_the_own_model(own: int):
    picture = checked(published(own))
    least, most = picture.layout.xaxis.range
    assert least < math.log10(max(1, own)) < most
    assert picture.data[0].x == (max(1, own),)


MOMENTS = pd.DataFrame(
    {
        "kind": ["embedding", "norm", "router"],
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
    names = dict.fromkeys(MOMENTS["kind"], "given")
    return weight_values_picture.panels(WeightValues(MOMENTS, BINS), names, _=_)


def test_each_kind_has_a_panel_with_mean_and_sigma():
    picture = checked(spread())
    first, second = picture.data  # what is no number has none
    assert (first.xaxis, second.xaxis) == ("x", "x2")
    assert [shape.x0 for shape in picture.layout.shapes] == [0.0, -0.1, 0.1, 1.0, 1.0, 1.0]
    domains = picture.layout.yaxis.domain, picture.layout.yaxis2.domain
    assert domains[0][0] > domains[1][1] > domains[1][0] >= 0
    assert "given: 0 ± 0.1; given: 1 ± 0" in described(picture, _=same)


@pytest.mark.parametrize("made", [pieces, growth, published, spread, differences])
def test_every_word_is_translated(made):
    assert words_that_slipped_by(made(_=marked)) <= {"sup", "d_model", "model"}
