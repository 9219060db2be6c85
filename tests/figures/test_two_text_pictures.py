"""Pictures of two texts: every number at its place, every word translated."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from drawn import TOKENS, bytes_sent, checked, marked, raw, same, visible, words_that_slipped_by

from pages.figures import bipartite, heads, two_texts
from pages.figures.bipartite import Keys
from pages.figures.theme import PINNED
from pages.figures.token_matrix import Names
from pages.panels.seq2seq import memory_picture

SOURCE = ("given", "<b>", "given 2")
WEIGHTS = np.random.default_rng(0).dirichlet(np.ones(3), size=len(TOKENS)).astype(np.float32)
MASKED = np.where([False, False, True], np.nan, WEIGHTS)


def attention(_: Any = same, weights: np.ndarray = WEIGHTS, **more: Any) -> Any:
    names = Names("given", "given", "given", TOKENS, SOURCE)
    shown = {"pinned": 3, "pinned_column": 1, **more}
    return two_texts.attention_map(weights, names, **shown, _=_)


def aligned(_: Any = same, true: Any = ((0, 0), (2, 1)), **more: Any) -> Any:
    title = two_texts.legend_of_links(_, is_known=true is not None)
    names = Names(title, "given", "given", TOKENS, SOURCE)
    found = [(0, 0), (1, 2)]
    return two_texts.alignment_map(WEIGHTS, names, found=found, true=true, pinned=1, **more, _=_)


def followed(_: Any = same, n: int = 5) -> Any:
    source = two_texts.Strip("given", SOURCE, MASKED[0])
    target = two_texts.Strip("given", ("given",) * n, np.full(n, 1 / n), pinned=0, first=7)
    return two_texts.strips(source, target, title="given <b>", _=_)


def lines(_: Any = same, **keys: Any) -> Any:
    shown = Keys(SOURCE, **keys)
    return bipartite.lines(
        MASKED, TOKENS, most=2, pinned=None, first=20, keys=shown, title="given", _=_
    )


def alike(_: Any = same) -> Any:
    values = np.array([[1, -0.5], [-0.5, 1]])
    return memory_picture.similarity(values, SOURCE[:2], title="given", pinned=0, _=_)


def changed(_: Any = same, most: float = 2.0) -> Any:
    steps = np.linspace(0, most, 6).reshape(2, 3)
    return memory_picture.changes(steps, SOURCE, ("given", "given 2"), pinned=2, _=_)


PICTURES = (attention, aligned, followed, lines, alike, changed)


@pytest.mark.parametrize("draw", PICTURES)
def test_every_word_is_translated_and_every_property_is_plotlys(draw: Any):
    assert words_that_slipped_by(draw(marked)) == set()
    checked(draw())


def cells(picture: Any, said: str) -> dict[str, Any]:
    return next(t for t in raw(picture)["data"] if said in str(t.get("hovertemplate", "")))


def test_a_cell_returns_its_query_and_its_key_counted_in_the_texts():
    found = cells(attention(first=(40, 70)), "weight")["customdata"]
    assert found.shape == (15, 3)
    for query, key, weight in found:
        assert weight == pytest.approx(WEIGHTS[int(query) - 40, int(key) - 70])


def test_the_row_of_the_query_and_the_column_of_the_key_are_outlined():
    shapes = [s for s in raw(attention())["layout"]["shapes"] if s["line"]["color"] == PINNED]
    places = {(s["x0"], s["x1"], s["y0"], s["y1"]) for s in shapes}
    assert places == {(-0.5, 2.5, 2.5, 3.5), (0.5, 1.5, -0.5, 4.5)}


def test_masked_cells_are_hatched_and_named_and_rows_show_their_sums():
    picture = attention(weights=MASKED)
    assert len(cells(picture, "masked")["x"]) == 5
    assert cells(picture, "masked")["marker"]["symbol"] == "line-ne"
    sums = [text for text in visible(picture) if text.startswith("Σ")]
    assert sums == [f"Σ {total:.3f}" for total in np.nansum(MASKED, axis=1)]


def test_a_frame_is_a_true_link_and_a_dot_one_that_was_found():
    picture = raw(aligned())
    frames = [s for s in picture["layout"]["shapes"] if s["line"]["color"] == two_texts.TRUE]
    assert {(round(s["y0"] + 0.44), round(s["x0"] + 0.44)) for s in frames} == {(0, 0), (2, 1)}
    dots = next(t for t in picture["data"] if t.get("marker", {}).get("symbol") == "circle")
    assert set(zip(dots["y"].tolist(), dots["x"].tolist(), strict=True)) == {(0, 0), (1, 2)}


def test_where_the_truth_is_not_known_nothing_is_called_true():
    picture = aligned(true=None)
    colors = [shape["line"]["color"] for shape in raw(picture)["layout"]["shapes"]]
    assert two_texts.TRUE not in colors
    assert "true" not in raw(picture)["layout"]["title"]["text"]


def test_a_token_of_a_strip_returns_its_number_and_its_text():
    data = raw(followed())["data"]
    assert [row for row in data[1]["customdata"]] == [[0, 0], [1, 0], [2, 0]]
    assert [row for row in data[3]["customdata"]] == [[7 + i, 1] for i in range(5)]
    assert "masked" in data[1]["hovertext"][2]
    assert raw(followed())["layout"]["title"]["text"] == "given &lt;b&gt;"


@pytest.mark.parametrize("n", [1, 32])
def test_any_number_of_tokens_makes_a_strip(n: int):
    checked(followed(n=n))


def test_lines_between_two_texts_return_the_number_and_the_side():
    left, right = raw(lines(first=50))["data"]
    assert left["customdata"] == [[20 + i, 0] for i in range(5)]
    assert right["customdata"] == [[50 + i, 1] for i in range(3)]


def test_all_readers_of_a_pinned_key_are_drawn_in_its_colour():
    found = bipartite.edges(MASKED, 1, None, 1)
    readers = np.flatnonzero(np.nan_to_num(MASKED)[:, 1] >= bipartite.LEAST)
    assert found[found[:, 1] == 1, 0].tolist() == readers.tolist()
    colors = [s["line"]["color"] for s in raw(lines(pinned=1))["layout"]["shapes"]]
    assert any("213, 94, 0" in color for color in colors)


def test_a_shorter_text_stands_in_the_middle_of_the_other():
    layout = raw(lines())["layout"]
    assert layout["yaxis"]["range"] == [4.5, -0.5]
    assert layout["yaxis2"]["range"] == [3.5, -1.5]
    ends = [path["path"].split()[-1] for path in layout["shapes"]]
    assert {float(end.split(",")[1]) for end in ends} <= {1.0, 2.0, 3.0}


def test_tiles_of_two_texts_mark_query_and_key():
    told = pd.DataFrame({"head": range(2), "label": "given", "hover": "given"})
    codes = np.zeros((10, 17), dtype=np.uint8)
    picture = heads.overview(
        codes, told, columns=2, selected=None, pinned=0.5, pinned_key=0.25, _=same
    )
    (marks,) = [s for s in raw(picture)["layout"]["shapes"] if s["type"] == "path"]
    assert marks["path"].count("H") == marks["path"].count("V") == 2
    bare = heads.overview(codes, told, columns=2, selected=None, pinned=None, _=same)
    assert not raw(bare)["layout"]["shapes"]


def test_no_change_at_all_is_drawn():
    checked(changed(most=0.0))


def test_two_long_texts_are_less_than_half_a_megabyte():
    tokens = tuple(f"t{i}" for i in range(64))
    names = Names("given", "given", "given", tokens, tokens)
    weights = np.full((64, 64), 1 / 64)
    picture = two_texts.attention_map(weights, names, pinned=0, pinned_column=0, _=same)
    assert bytes_sent(picture) < 500_000
