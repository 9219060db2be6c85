"""Two pictures on one scale: what reaches further decides, and nothing given is changed."""

import numpy as np
import pytest

from pages.figures.beside import are_same, on_one_scale
from pages.figures.signed import MOST, ZERO, signed_bar, signed_map
from pages.figures.theme import figure


def line(values, **axis):
    trace = {"type": "scatter", "x": [0, 1, 2], "y": values}
    return figure([trace], xaxis={}, yaxis=axis)


def y_ranges(*pictures):
    return [picture.layout.yaxis.range for picture in pictures]


def test_points_decide_where_nobody_says_a_range():
    a, b = line([0, 1, 2]), line(np.array([-3.0, 5.0, np.nan]))
    ours, theirs = on_one_scale(a, b)
    assert y_ranges(ours, theirs)[0] == y_ranges(ours, theirs)[1]
    low, high = ours.layout.yaxis.range
    assert low < -3 and high > 5
    assert a.layout.yaxis.range is None and b.layout.yaxis.range is None


def test_ranges_that_are_said_are_joined_and_keep_their_direction():
    a, b = line([1, 2, 3], range=[9, -0.5]), line([1, 2, 3], range=[4, -2])
    for picture in on_one_scale(a, b):
        assert picture.layout.yaxis.range == (9, -2)


def test_rows_are_as_high_in_both():
    def rows(n):
        trace = {"type": "scatter", "x": [0] * n, "y": [*range(n)]}
        return figure([trace], height=100 + 30 * n, xaxis={}, yaxis={"range": [n - 0.5, -0.5]})

    assert [each.layout.height for each in on_one_scale(rows(4), rows(7))] == [310, 310]


def test_a_logarithmic_axis_is_joined_by_its_exponents():
    a, b = line([1, 10, 0], type="log"), line([100, 1e6, 3], type="log")
    low, high = on_one_scale(a, b)[0].layout.yaxis.range
    assert low == pytest.approx(0, abs=0.4) and high == pytest.approx(6, abs=0.4)


def test_bars_begin_at_zero():
    def bars(values):
        return figure([{"type": "bar", "x": [1, 2], "y": values}], xaxis={}, yaxis={})

    for picture in on_one_scale(bars([5, 6]), bars([7, 9])):
        assert picture.layout.yaxis.range[0] == 0
        assert picture.layout.yaxis.range[1] > 9


def test_bars_with_a_base_reach_from_it():
    def band(base):
        trace = {"type": "bar", "orientation": "h", "base": base, "x": [2, 2], "y": [0, 1]}
        return figure([trace], xaxis={}, yaxis={})

    low, high = on_one_scale(band([-5, 0]), band([0, 6]))[0].layout.xaxis.range
    assert low < -5 and high > 8


@pytest.mark.parametrize(
    "axis", [{"type": "category"}, {"autorange": "reversed"}], ids=["names", "rows"]
)
def test_axes_of_names_stay_their_own(axis):
    def rows(names):
        return figure([{"type": "scatter", "x": [1, 2], "y": names}], xaxis={}, yaxis=axis)

    for picture in on_one_scale(rows(["a", "b"]), rows(["c", "d"])):
        assert picture.layout.yaxis.range is None


def test_colours_mean_the_same_in_both():
    def map_of(least, most):
        cells = {"type": "heatmap", "z": np.ones((2, 2)), "zmin": least, "zmax": most}
        return figure([cells], xaxis={}, yaxis={})

    for picture in on_one_scale(map_of(0, 3), map_of(-1, 2)):
        assert (picture.data[0].zmin, picture.data[0].zmax) == (-1, 3)


def test_signed_colours_mean_the_same_in_both():
    def signed(most):
        values = np.array([[most, -most], [0.0, np.nan]])
        bar = {"showscale": True, "colorbar": signed_bar(values, "x")}
        return figure([signed_map(values, **bar)], xaxis={}, yaxis={})

    small, large = signed(1.0), signed(2.0)
    ours, theirs = on_one_scale(small, large)
    half = (MOST - ZERO) // 2
    assert ours.data[0].z.tolist() == [[ZERO + half, ZERO - half], [ZERO, small.data[0].z[1, 1]]]
    assert theirs.data[0].z.tolist() == large.data[0].z.tolist()
    assert ours.data[0].colorbar.ticktext == theirs.data[0].colorbar.ticktext
    assert small.data[0].z[0, 0] == MOST


def test_names_of_rows_have_as_much_room_in_both():
    def rows(*names):
        axis = {"tickvals": [*range(len(names))], "ticktext": names, "range": [-1, len(names)]}
        trace = {"type": "bar", "orientation": "h", "x": [1] * len(names), "y": [0] * len(names)}
        return figure([trace], xaxis={}, yaxis=axis)

    lefts = {each.layout.margin.l for each in on_one_scale(rows("a"), rows("a long name"))}
    assert len(lefts) == 1 and lefts.pop() >= 7 * 11
    alike = rows("a"), rows("a")
    assert on_one_scale(*alike)[0].layout.margin == alike[0].layout.margin


def test_pictures_with_other_axes_are_left_alone():
    a, b = line([1, 2, 3]), figure([{"type": "bar", "x": [1], "y": [2]}])
    assert on_one_scale(a, b)[0].layout.yaxis.range is None


# Plotly packs numbers; what is empty, of words or of any kind stays an array.
ARRAYS = {
    "numbers": np.array([1.0, np.nan]),
    "empty": np.array([]),
    "words": np.array(["a", "b"]),
    "anything": np.array(["a", 1, None], dtype=object),
}


def held(values, **more):
    return figure([{"type": "scatter", "x": values, **more}])


@pytest.mark.parametrize("values", ARRAYS.values(), ids=ARRAYS.keys())
def test_pictures_of_equal_values_are_the_same(values: np.ndarray):
    assert are_same(held(values), held(values.copy()))
    assert are_same(held([*values], customdata=(values,)), held([*values], customdata=(values,)))


@pytest.mark.parametrize("values", ARRAYS.values(), ids=ARRAYS.keys())
def test_pictures_of_other_values_are_not(values: np.ndarray):
    shown = held(values, name="a")
    others = (held([*values, 2], name="a"), held(values, name="b"), held(values))
    assert not any(are_same(shown, other) or are_same(other, shown) for other in others)


def test_an_empty_array_and_one_with_a_value_are_not_the_same():
    assert not are_same(held(np.array([])), held(np.array([1.0])))
