"""What a picture says of itself: title, axes, and every trace by its values."""

import numpy as np
from drawn import marked, same

from pages.figures.described import HEADING, described
from pages.figures.signed import signed_map
from pages.figures.theme import figure
from pages.figures.weights import codes, weight_map

TOKENS = {"tickvals": [0, 1], "ticktext": ["&lt;b&gt;", "a"], "title": {"text": "token"}}


def bars(**more):
    return {"type": "bar", "x": [0, 1], "y": [0.25, None], "name": "dead", **more}


def share(**more):
    return {"title": {"text": "share"}, "tickformat": ".0%", **more}


def test_a_few_values_are_said_one_by_one_by_their_names():
    picture = figure([bars(y=[0.25, 0.5])], title="Units", xaxis=TOKENS, yaxis=share())
    said = "Units. Horizontal axis: token; vertical axis: share. dead: <b> 25.0%; a 50.0%."
    assert described(picture, _=same) == said


def test_what_is_missing_is_not_said_and_bars_may_lie():
    lying = bars(x=[1200, None], y=[0, 1], orientation="h")
    said = described(figure([lying], yaxis=TOKENS), _=same)
    assert said == "Vertical axis: token. dead: <b> 1,200."


def test_many_values_are_said_by_their_ends():
    line = {"type": "scatter", "x": [*range(20)], "y": np.linspace(0, 1, 20), "name": "all"}
    assert described(figure([line], yaxis=share()), _=same).endswith("all: 0.0% to 100.0%.")
    cells = {"type": "heatmap", "z": [[-1.5, np.nan], [0, 3]]}
    assert described(figure([cells]), _=same) == "colors: -1.5 to 3."


def test_marks_that_wait_for_the_cursor_are_not_said_and_a_level_is_its_name():
    unseen = bars(marker={"opacity": 0})
    level = {"type": "scatter", "mode": "lines", "x": [2, 2], "y": [0, 99], "name": "capacity: 2"}
    assert described(figure([unseen, level]), _=same) == "capacity: 2."


def test_its_own_words_are_translated():
    picture = figure([bars()], xaxis=TOKENS, yaxis=share())
    words = ("⟦Horizontal axis: token; vertical axis: share⟧", "⟦dead: <b> 25.0%⟧")
    assert described(picture, _=marked) == " ".join(f"⟦{each}.⟧" for each in words)


def test_of_several_axes_each_trace_names_its_own():
    lines = [bars(yaxis="y"), bars(yaxis="y2")]
    axes = {"yaxis": share(), "yaxis2": {"title": {"text": "slope"}}}
    said = described(figure(lines, **axes), _=same)
    assert said == "Vertical axis: share, slope. dead, share: 0 25.0%; dead, slope: 0 0.25."


def test_what_marks_rows_is_its_name_and_what_is_empty_is_nothing():
    marks = {"type": "scatter", "mode": "markers", "x": [0], "y": [1], "name": "chosen"}
    rows = {"tickvals": [0, 1]}
    assert described(figure([marks, bars(y=[None, None])], yaxis=rows), _=same) == "chosen."


def test_colors_are_said_as_the_values_that_they_stand_for():
    weights = np.array([[1, 2, 250], [0, 1, 126]], dtype=np.uint8)  # gutters and masked cells
    said = described(figure([weight_map(weights, same)]), _=same)
    assert said == "weight: 0 to 1."
    relative = weight_map(codes(np.array([[0.5, 1]])), same, name="head <b>1</b>")
    assert described(figure([relative]), _=same) == "head 1: 0.5 to 1."
    assert described(figure([signed_map(np.array([[-3.0, np.nan, 1.5]]))]), _=same) == (
        "colors: -3 to 1.5."
    )


def test_what_no_axis_tells_is_said_by_the_trace():
    tiles = {"type": "scatter", "marker": {"opacity": 0}, "meta": {"said": ["head &lt;1", "two"]}}
    assert described(figure([tiles], title="Heads"), _=same) == "Heads. head <1; two."


def test_numbers_in_cells_are_not_said_by_the_places_where_they_stand():
    cells = {"type": "heatmap", "z": [[0.5, 1], [2, 3]], "colorbar": {"title": {"text": "bits"}}}
    written = {"type": "scatter", "mode": "text", "x": [0, 1], "y": [0, 1], "text": [".5", "3"]}
    assert described(figure([cells, written]), _=same) == "bits: 0.5 to 3."


def test_a_heading_above_its_axes_names_them_and_a_band_is_its_curve():
    band = {"type": "scatter", "mode": "lines", "x": [0, 1], "y": [0, 9], "fill": "toself"}
    traces = [{**trace, "meta": {HEADING: "entropy"}} for trace in (bars(), band)]
    said = described(figure(traces), _=same)
    assert said == "dead, entropy: 0 0.25."


def test_cells_whose_scale_has_words_are_said_by_its_ends():
    bar = {"title": {"text": "weight"}, "ticktext": ["none", "some", "all"]}
    cells = {"type": "heatmap", "z": [[0, 250]], "colorbar": bar}
    assert described(figure([cells]), _=same) == "weight: none to all."
    assert described(figure([{**cells, "showscale": False}]), _=same) == ""


def test_what_is_written_into_cells_is_said_with_both_their_names():
    cells = {"type": "heatmap", "z": [[0, 1]], "text": [["", "✓ 1"]], "texttemplate": "%{text}"}
    rows = {"tickvals": [0], "ticktext": ["bounded"]}
    assert described(figure([cells], xaxis=TOKENS, yaxis=rows), _=same).endswith("bounded: a ✓ 1.")


def test_what_stands_at_the_ends_of_bars_is_said_with_their_names():
    ends = {"type": "scatter", "mode": "text", "x": [2.0], "y": ["a &lt;b&gt;"], "text": [" 2 GB "]}
    large = bars(x=["a"], y=[2.5e9])
    axis = {"title": {"text": "bytes"}, "tickformat": "~s", "ticksuffix": "B"}
    said = described(figure([large, ends], yaxis=axis), _=same)
    assert said == "Vertical axis: bytes. dead: a 2.5 GB; a <b> 2 GB."
    written = {"type": "bar", "orientation": "h", "x": [90], "y": ["T4"], "text": ["2 min"]}
    assert described(figure([written]), _=same) == "T4 2 min."


def test_marks_are_said_by_their_own_names_or_by_their_rows():
    dots = {"type": "scatter", "mode": "markers", "x": [1], "y": [2.5], "text": ["softmax"]}
    assert described(figure([dots]), _=same) == "softmax 2.5."
    rows = {"type": "scatter", "mode": "markers", "x": [0.002], "y": ["softmax"], "name": "here"}
    seconds = {"tickformat": "~s", "ticksuffix": "s"}
    assert described(figure([rows], xaxis=seconds), _=same) == "here: softmax 2 ms."
    joins = {"type": "scatter", "mode": "lines", "x": [1, 2], "y": [3, 4], "hoverinfo": "skip"}
    assert described(figure([joins]), _=same) == ""


def test_texts_at_the_ends_of_bars_are_said_after_the_names_of_their_rows():
    lying = bars(x=[0.25, 0.5], y=[0, 1], orientation="h", text=["25%", "50%"])
    said = described(figure([lying], yaxis=TOKENS), _=same)
    assert said == "Vertical axis: token. <b> 25%; a 50%."


def test_a_bar_that_hangs_in_the_air_is_no_amount():
    assert described(figure([bars(base=[1, 2])], title="Band"), _=same) == "Band."


def test_of_many_things_some_are_said_and_the_rest_is_counted():
    heads = [f"head {i}" for i in range(270)]
    tiles = {"type": "scatter", "marker": {"opacity": 0}, "meta": {"said": heads}}
    said = described(figure([tiles], title="Heads"), _=same)
    assert said == "Heads. head 0; head 1; and 268 more, in the table."
    few = {**tiles, "meta": {"said": heads[:8]}}
    assert described(figure([few], title="Heads"), _=same).endswith("head 6; head 7.")
    curves = [bars(name=f"layer {i}") for i in range(30)]
    said = described(figure(curves, title="Layers"), _=same)
    assert said == "Layers. layer 0: 0 0.25; layer 1: 0 0.25; and 28 more, in the table."
