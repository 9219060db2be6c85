"""A beside B: what is drawn is what was given, and every word is translated or given."""

import numpy as np
import pandas as pd
import pytest
from drawn import TOKENS, checked, marked, raw, same, visible, words_that_slipped_by

from pages.figures.described import described
from pages.figures.signed import MOST, ZERO
from pages.figures.weights import MASKED_CODE
from pages.panels.compare import pair_picture, runs_picture, trade_off_picture

NAMES = ("A · given <b>", "B · given")


def two_bars() -> pd.DataFrame:
    return pd.DataFrame({"label": ["given <b>", "given & given"], "a": [1.0, 0.0], "b": [3.0, 2.0]})


def line(*values: float) -> pd.DataFrame:
    return pd.DataFrame({"layer": range(len(values)), "value": values})


def lines(a: pd.DataFrame, b: pd.DataFrame, _=same):
    return pair_picture.over_layers(a, b, NAMES, selected=1, title="given", unit="given", _=_)


def test_bars_stand_two_by_two():
    picture = pair_picture.bars(
        two_bars(), NAMES, title="given", unit="given", said="{:.0f}".format, _=same
    )
    a, b = checked(picture).data
    assert list(a.x) == [1, 0] and list(b.x) == [3, 2]
    assert list(a.text) == [" 1", " –"]
    alt = "given. Horizontal axis: given. A · given <b>: given <b> 1; given & given –;"
    assert described(picture, _=same).startswith(alt)
    assert a.marker.pattern.shape == "/" and a.name == "A · given &lt;b&gt;"
    assert "given &lt;b&gt;" in picture.layout.yaxis.ticktext
    assert words_that_slipped_by(picture) == set()


def test_lines_part_and_what_lies_between_them_is_drawn_below():
    picture = checked(lines(line(1, 2, 3), line(1, 4, 2, 5)))
    assert list(picture.data[2].y) == [0, 2, -1]
    assert picture.data[2].type == "bar"
    assert list(picture.data[2].marker.color) == [
        pair_picture.A_COLOR,
        pair_picture.B_COLOR,
        pair_picture.A_COLOR,
    ]
    assert picture.layout.yaxis2.title.text == "B − A"
    assert picture.layout.xaxis.range == (-0.5, 3.5)


def test_what_lies_far_apart_is_divided():
    picture = checked(lines(line(1, 10), line(1, 1000)))
    assert picture.layout.yaxis.type == picture.layout.yaxis2.type == "log"
    assert list(picture.data[2].y) == [1, 100]
    assert words_that_slipped_by(lines(line(1, 10), line(1, 99), marked)) == set()


def test_a_line_that_is_flat_at_zero_is_drawn():
    assert checked(lines(line(0, 0), line(0, 0))).layout.yaxis.type is None


WEIGHTS = np.array([[1, np.nan, np.nan], [0.5, 0.5, np.nan], [0.2, 0.3, 0.5]], dtype=np.float32)


def test_the_difference_diverges_around_zero():
    values = WEIGHTS.copy()
    values[1] = [-0.4, 0.4, np.nan]
    values[0, 0] = 0
    picture = checked(
        runs_picture.difference(values, TOKENS[:3], title="given", pinned=4, first=3, _=same)
    )
    z = np.asarray(picture.data[0].z).astype(int)
    assert z[0, 0] == ZERO and z[0, 1] == MASKED_CODE and z[2, 2] == MOST
    assert z[1, 0] - ZERO == -(z[1, 1] - ZERO)
    assert picture.layout.shapes[0].y0 == 0.5
    seen, masked = picture.data[1:]
    assert len(seen.x) == 6 and len(masked.x) == 3
    assert np.asarray(seen.customdata)[:, 0].tolist() == [3, 4, 4, 5, 5, 5]


@pytest.mark.parametrize("values", [np.zeros((3, 3)), np.full((3, 3), np.nan)])
def test_no_difference_is_no_colour(values: np.ndarray):
    picture = runs_picture.difference(values, TOKENS[:3], title="", pinned=0, _=same)
    assert set(np.asarray(checked(picture).data[0].z).ravel()) <= {ZERO, MASKED_CODE}


def test_one_pattern_is_clicked_by_its_query():
    codes = np.full((3, 3), 100, dtype=np.uint8)
    picture = runs_picture.one_pattern(
        codes, WEIGHTS, TOKENS[:3], title="given", pinned=1, _=marked
    )
    checked(picture)
    assert words_that_slipped_by(picture) == set()
    assert not any("<b>球" in text for text in visible(picture))


def test_distances_return_row_and_column():
    found = np.array([[0.0, 0.5, 1.0], [0.25, 0.25, 0.25]])
    picture = runs_picture.distances(
        found, titles=("given", "given"), selected=(1, 2), title="given", _=marked
    )
    heat, targets = checked(picture).data
    assert heat.text[0][1] == ".50"
    assert np.asarray(targets.customdata).tolist()[5] == [1, 2]
    assert (picture.layout.shapes[0]["x0"], picture.layout.shapes[0]["y0"]) == (1.5, 0.5)
    assert words_that_slipped_by(picture) == set()


def test_many_heads_are_not_written_into_each_other():
    numbers = np.zeros((40, 64))
    titles = ("given", "given")
    picture = runs_picture.distances(numbers, titles=titles, title="", _=same)
    assert "text" not in raw(picture)["data"][0]
    assert len(picture.layout.xaxis.tickvals) <= 16


def points() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "key": ["preset:x", "kept:0", "b", "kept:1"],
            "name": ["given <b>", "given", "given", "given"],
            "kind": ["preset", "a", "b", "kept"],
            "x": [1.0, 10.0, 100.0, 50.0],
            "y": [100.0, 10.0, 1.0, 50.0],
            "on_front": [True, True, True, False],
            "said": ["given &lt;b&gt;", "given", "given", "given"],
        }
    )


@pytest.mark.parametrize(("x_more", "shape"), [(False, "hv"), (True, "vh")])
def test_the_front_is_stairs_and_dots_are_clicked_by_their_key(x_more: bool, shape: str):
    more = (x_more, x_more)
    picture = trade_off_picture.scatter(
        points(), titles=("given", "given"), more_is_better=more, _=marked
    )
    front, *dots, labels = checked(picture).data
    assert front.line.shape == shape
    assert list(front.x) == [1, 10, 100]
    assert [trace.customdata[0][0] for trace in dots] == ["preset:x", "kept:1", "kept:0", "b"]
    assert len(labels.text) == 4 and "" not in labels.text
    assert labels.textposition[1] == ("top right" if x_more else "bottom left")
    assert words_that_slipped_by(picture) == set()


def test_of_many_at_one_place_ours_is_named_and_the_others_are_counted():
    pile = points().assign(x=7.0, y=7.0, kind=["preset", "preset", "b", "preset"])
    picture = trade_off_picture.scatter(
        pile.assign(name=["one", "two", "mine", "three"]),
        titles=("given", "given"),
        more_is_better=(True, True),
        _=same,
    )
    assert [*checked(picture).data[-1].text] == ["mine, and 2 more"]  # the last is not on the front
