"""Pictures for the back row."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import plotly.graph_objects as go

from pages.figures.large import enlarged
from pages.figures.theme import ACROSS, TILES, figure

READABLE = 16  # pixels, from the back row
NAMES = [f"token {i}" for i in range(40)]
TICKS = {"tickvals": [*range(40)], "ticktext": NAMES, "tickfont": {"size": 9}}


def sizes(node: Any, name: str = "") -> Iterator[float]:
    """How large every text is."""
    if isinstance(node, dict):
        if name.endswith("font"):
            yield from np.ravel(node.get("size", 0)).tolist()
        for key, child in node.items():
            if key == "template":
                continue
            yield from sizes(child, key)
    elif isinstance(node, (list, tuple)):
        for child in node:
            yield from sizes(child, name)


def matrix(n: int, **layout: Any):
    z = np.arange(float(n * n)).reshape(n, n)
    text = [[f"{x:.1f}" for x in row] for row in z]
    heat = {"type": "heatmap", "z": z, "text": text, "texttemplate": "%{text}"}
    return figure([heat], title="given", height=300, **layout)


def test_no_text_is_small_and_all_have_their_room():
    note = {"text": "here", "font": {"size": 10}, "yshift": 6}
    given = figure(
        [{"type": "scatter", "mode": "markers+text", "text": ["a"], "textfont": {"size": [9]}}],
        title="given",
        height=300,
        annotations=[note],
    )
    found = enlarged(given)
    written = found.to_plotly_json()
    assert min(sizes(written)) >= READABLE
    assert found.layout.height == 470 and found.layout.margin.t == 48
    assert found.layout.annotations[0].yshift == 8
    assert found.layout.xaxis.tickfont.size == found.layout.yaxis.title.font.size == READABLE
    assert given.layout.annotations[0].font.size == 10 and given.layout.height == 300
    go.Figure(written)


def test_of_two_lines_in_low_rows_the_first_is_left():
    heat = {"type": "heatmap", "z": np.eye(2), "text": [["a<br>#1", "b"]] * 2}
    low, high = {**heat, "z": np.ones((20, 2)), "text": [["a<br>#1", "b"]] * 20}, heat
    found = [enlarged(figure([each], height=300)).data[0].text[0][0] for each in (low, high)]
    assert found == ["a", "a<br>#1"]


def test_words_and_ranks_in_two_lines_stand_in_a_picture_across_the_screen():
    heat = {"type": "heatmap", "z": np.eye(13), "text": [["&lt;file…<br>#49,152"] * 13] * 13}
    wide, anywhere = (enlarged(figure([heat], meta=meta)).data[0] for meta in ({ACROSS: 1000}, {}))
    assert wide.text is not None and anywhere.text is None


def test_a_high_picture_is_squeezed_and_labels_that_no_longer_fit_are_left_out():
    axes = {"yaxis": TICKS, "xaxis": {**TICKS, "domain": [0, 0.5]}}
    found = enlarged(figure([{"type": "heatmap", "z": np.eye(40)}], height=800, **axes))
    assert found.layout.height == 470
    assert found.layout.yaxis.ticktext == (*NAMES[1::2],)
    assert len(found.layout.xaxis.ticktext) <= 16 and found.layout.xaxis.ticktext[-1] == NAMES[-1]


def test_what_is_no_map_is_squeezed_a_little():
    note = {"text": "<b>a</b><br><span style='font-size:10px'>b</span>"}
    found = enlarged(figure([], height=800, annotations=[note]))
    assert found.layout.height == 600
    assert found.layout.annotations[0].text == "<b>a</b>"


def test_numbers_stay_in_cells_that_hold_them():
    few, many = (enlarged(matrix(n)).data[0] for n in (4, 30))
    assert few.texttemplate and few.textfont.size == READABLE
    assert many.texttemplate is None and many.text is None and many.z.shape == (30, 30)


def test_numbers_written_over_cells_leave_no_dots_behind():
    n = np.arange(900)
    texts = {"type": "scatter", "mode": "text", "x": n % 30, "y": n // 30, "text": ["0.25"] * 900}
    (found,) = enlarged(figure([texts])).data
    assert len(found.x) == 0 and found.text is None


def test_names_that_are_set_in_lines_keep_all_of_them():
    names = ["entropy<br>(bits)", "distance<br>(tokens)", "previous token", "first token"]
    ticks = {"tickvals": [*range(4)], "ticktext": names, "tickangle": 0}
    found = enlarged(figure([{"type": "heatmap", "z": np.eye(4)}], height=300, xaxis=ticks))
    assert [*found.layout.xaxis.ticktext] == names


def test_a_name_in_bold_is_as_wide_as_its_letters():
    names = [*("a" * 11), "<b><span style='color: #d55e00'>a</span></b>"]
    axis = {"tickvals": [*range(12)], "ticktext": names, "tickangle": 0}
    picture = figure([{"type": "scatter", "x": [0, 11], "y": [0, 1]}], title="", xaxis=axis)
    assert [*enlarged(picture).parts["layout"]["xaxis"]["ticktext"]] == names


def test_maps_side_by_side_take_the_width_that_there_is():
    axes = {"xaxis": {"range": [0, 50]}, "yaxis": {"range": [10, 0], "scaleanchor": "x"}}
    given = {"height": 120, "meta": {TILES: True, ACROSS: 1000}, **axes}
    found = enlarged(figure([{"type": "heatmap", "z": np.eye(4)}], **given))
    assert found.layout.yaxis.scaleanchor is None and 200 < found.layout.height < 300
    assert enlarged(figure([], **given), room=180).layout.height == 180


def test_numbers_beside_lying_bars_stay_where_rows_are_high_enough():
    rows, pieces = ({"y": y, "text": ["1"] * 40} for y in ([*range(40)], [0, 1] * 20))
    shown = [
        enlarged(figure([{"type": "bar", "orientation": "h", "x": [1] * 40, **each}], height=300))
        for each in (rows, pieces)
    ]
    assert shown[0].data[0].text is None and shown[1].data[0].text is not None
