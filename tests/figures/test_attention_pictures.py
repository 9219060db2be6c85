"""The pictures of the page of attention: every number at its place, every word translated."""

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from drawn import (
    N_TOKENS,
    TOKENS,
    bytes_sent,
    checked,
    marked,
    pattern,
    raw,
    same,
    visible,
    weights_of,
    words_that_slipped_by,
)

from blocks import ModelConfig
from blocks.inspection.contribution import SinkFacts
from blocks.inspection.head_facts import HeadFacts
from blocks.inspection.head_steps import Around, AttentionSteps, HeadSteps
from blocks.model.masks import MaskConfig, MaskKind
from blocks.observe.run import Input, Run
from pages.figures import bipartite, head_table, heads, palette
from pages.figures.described import described
from pages.figures.signed import LEAST, MOST, ZERO, signed_codes, signed_map
from pages.panels.attention import sinks_picture, step_picture, strip_picture

WEIGHTS = weights_of(pattern(), 3)
RUN = Run(
    config=ModelConfig.from_flat({"d_model": 4, "n_heads": 1, "max_seq_len": 128}),
    input=Input(tokens=tuple(TOKENS)),
    mask=MaskConfig(mask_kind=MaskKind.CAUSAL),
)


def numbers(n_columns: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(N_TOKENS, n_columns))


def steps() -> HeadSteps:
    q, k, v = (numbers(4, i) for i in range(3))
    raw, mixed = q @ k.T, np.nan_to_num(WEIGHTS) @ v
    masked = np.where(np.isnan(WEIGHTS), np.nan, raw / 2)
    made = (
        raw,
        raw / 2,
        None,
        None,
        masked,
        None,
        WEIGHTS,
        mixed,
        None,
    )  # no cap, bias, sink, gate
    around = Around(numbers(4, 5), numbers(4, 6)[:4], q, mixed, mixed)
    layer = cast(AttentionSteps, None)  # no picture draws it
    weight = numbers(4)[:4]
    return HeadSteps(q, k, v, *made, out_weight=weight, written=mixed, around=around, layer=layer)


STEPS = steps()


def one_head(step: str, **more: Any) -> HeadFacts:
    return HeadFacts(RUN, 0, 0, 3, STEPS, step, **{"key": 1, "feature": 2, **more})


def strip(_: Any = same, current: str = "scores") -> Any:
    return strip_picture.strip(one_head(current), _=_)


def side_by_side(_: Any = same, step: str = "softmax") -> Any:
    return step_picture.step(one_head(step), _=_)


def product(_: Any = same, **more: Any) -> Any:
    return step_picture.step(one_head("scores", **more), _=_)


def sinks(_: Any = same) -> Any:
    table = pd.DataFrame(
        {
            "layer": [0, 0, 1],
            "head": [0, 1, 0],
            "weight": [0.9, 0.9, 0.1],
            "even_weight": 0.2,
            "value_ratio": [0.1, 0.9, 0.1],
            "is_sink": [True, False, False],
        }
    )
    return sinks_picture.sinks(SinkFacts(table, (0, 1)), _=_)


def lines(_: Any = same, most: int = 2, pinned: int = 3, n: int = N_TOKENS) -> Any:
    weights = WEIGHTS if n == N_TOKENS else weights_of(pattern(1, n), 0)
    tokens = TOKENS if n == N_TOKENS else tuple(f"given {i}" for i in range(n))
    return bipartite.lines(weights, tokens, most=most, pinned=pinned, first=10, title="given", _=_)


def table(_: Any = same) -> Any:
    return head_table.measures(
        np.arange(6.0).reshape(3, 2),
        np.arange(6.0).reshape(3, 2) / 5,
        heads=["given"] * 3,
        columns=["given", "given"],
        returns=[(0, 0), (0, 1), (1, 0)],
        selected=1,
        _=_,
    )


PICTURES = [strip, side_by_side, product, sinks, lines, table]


@pytest.mark.parametrize("picture", PICTURES)
def test_every_word_is_translated_and_every_property_is_plotlys(picture: Any):
    assert words_that_slipped_by(picture(marked)) == set()
    checked(picture())


def test_numbers_of_either_sign_diverge_around_nought():
    codes = signed_codes(np.array([[-2.0, 0, 1, 2, np.nan]]))
    assert codes.tolist() == [[LEAST, ZERO, ZERO + (MOST - ZERO) / 2, MOST, 1]]
    assert signed_codes(np.zeros((1, 2))).tolist() == [[ZERO, ZERO]]
    scale = signed_map(np.array([[1.0]]))["colorscale"]
    assert scale[0] == (0, palette.MASKED) and len({color for _at, color in scale}) == 6


def heatmaps(picture: Any) -> list[dict[str, Any]]:
    return [trace for trace in raw(picture)["data"] if trace["type"] == "heatmap"]


def test_the_strip_has_every_frame_and_tells_its_step():
    data = raw(strip())["data"]
    assert [np.asarray(z["z"]).shape for z in heatmaps(strip())] == (
        [(5, 4)] * 4 + [(5, 5)] * 4 + [(5, 4)] * 2
    )
    targets = [trace["customdata"][0][0] for trace in data if trace["type"] == "scatter"]
    later = ["scores", "scaled", "mask", "softmax", "mix", "write"]
    assert targets == ["project", *["qkv"] * 3, *later]
    faint = [strip_picture.FAINT] * 5
    assert [z.get("opacity") for z in heatmaps(strip())] == [1, 1, 1, 1, 1, *faint]


def test_a_strip_so_far_holds_nothing_of_later_steps():
    early = strip_picture.so_far(one_head("scores"), _=same)
    assert [z["name"] for z in heatmaps(early)] == [z["name"] for z in heatmaps(strip())[:5]]
    assert "0 to 1" not in described(early, _=same)
    targets = [t["customdata"][0][0] for t in raw(early)["data"] if t["type"] == "scatter"]
    assert targets == [t["customdata"][0][0] for t in cells(strip())]


def scales(picture: Any) -> list[tuple[str, ...]]:
    """The texts of each scale that is shown."""
    return [tuple(z["colorbar"]["ticktext"]) for z in heatmaps(picture) if z["showscale"]]


def test_what_has_another_range_has_a_scale_of_its_own():
    scores, weights = scales(side_by_side())
    assert weights == ("0", "0.5", "1") and float(scores[2]) == -float(scores[0]) != 1
    assert len(scales(side_by_side(same, "scaled"))) == 1  # raw and divided, on one scale
    assert [len(each) for each in scales(product())] == [3, 3, 3]
    places = [(z["colorbar"].get("orientation"), z["colorbar"]["y"]) for z in heatmaps(product())]
    assert places[0] == ("h", 0) and places[1][1] > 0.5 > places[2][1]


def test_where_sinks_are_set_apart_each_matrix_has_colors_of_its_own_and_dots_beyond_their_end():
    facts = replace(one_head("qkv"), apart=(0,))
    picture = step_picture.step(facts, _=same)
    ends = [float(texts[2]) for texts in scales(picture)]
    values = [facts.steps.q, facts.steps.k, facts.steps.v]
    expected = [float(np.quantile(np.abs(each), 0.99)) for each in values]
    assert ends == pytest.approx(expected, rel=0.06) and len(scales(side_by_side(same, "qkv"))) == 1
    dots = [t for t in raw(picture)["data"] if (t.get("marker") or {}).get("size") == 3]
    beyond = [int((np.abs(each) > end).sum()) for each, end in zip(values, expected, strict=True)]
    assert [len(each["x"]) for each in dots] == beyond and sum(beyond) >= 3
    small = strip_picture.strip(facts, _=same)
    most = [z["meta"]["most"] for z in heatmaps(small) if "most" in z.get("meta", {})]
    assert most[4] != most[5]  # raw and divided, each on its own


def test_a_mask_leaves_what_it_lets_through_its_color():
    facts = replace(one_head("mask"), apart=(0,))
    before, after = (z["meta"]["most"] for z in heatmaps(step_picture.step(facts, _=same)))
    alone = heatmaps(step_picture.narrow(facts, _=same))[0]["meta"]["most"]
    assert before == after == alone


def test_frames_that_are_current_are_framed_and_bold():
    frame = raw(strip(current="qkv"))["layout"]["shapes"][0]
    other = raw(strip(current="softmax"))["layout"]["shapes"][0]
    assert [frame["x0"], frame["x1"]] == pytest.approx([0.1, 0.4], abs=0.02)
    assert 7 / 10 < other["x0"] < other["x1"] < 8 / 10 + 0.01
    titles = [a["text"] for a in raw(strip())["layout"]["annotations"]]
    assert [text.startswith("<b>") for text in titles] == [False] * 4 + [True] + [False] * 5


def cells(picture: Any) -> list[dict[str, Any]]:
    return [trace for trace in raw(picture)["data"] if trace["type"] in ("scatter", "scattergl")]


def test_each_cell_says_its_value_and_returns_its_tokens():
    long = Input(tokens=tuple(f"given {i}" for i in range(100)))
    everyone = np.full((100, 100), 0.01)
    facts = HeadFacts(
        replace(RUN, input=long),
        0,
        0,
        60,
        replace(STEPS, masked=everyone, pattern=everyone),
        "softmax",
    )
    seen = cells(step_picture.step(facts, _=same))[-1]
    for (query, key, is_key, value), x, y in zip(
        seen["customdata"], seen["x"], seen["y"], strict=True
    ):
        assert (query, key, is_key) == (44 + y, 44 + x, 1)
        assert value == pytest.approx(everyone[y, x])


def test_masked_cells_are_crossed_and_named_and_have_no_number():
    picture = side_by_side()
    masked = [trace for trace in cells(picture) if "masked" in trace["hovertemplate"]]
    assert len(masked) == 2
    for trace in masked:
        places = set(zip(trace["x"].tolist(), trace["y"].tolist(), strict=True))
        assert places == {(key, query) for query, key in np.argwhere(np.isnan(WEIGHTS)).tolist()}
        assert trace["marker"]["symbol"] == "x-thin" and trace["marker"]["opacity"] > 0
    text = heatmaps(picture)[1]["text"]
    assert all((text[q][k] == "") == np.isnan(WEIGHTS[q, k]) for q in range(5) for k in range(5))


def test_rows_of_weights_show_their_sums():
    assert [text for text in visible(side_by_side()) if text.startswith("Σ")] == ["Σ 1.000"] * 5
    assert not [text for text in visible(side_by_side(same, "scaled")) if text.startswith("Σ")]


def outlines(picture: Any) -> list[tuple[str, list[float], list[float]]]:
    return [
        (s["xref"], [s["x0"], s["x1"]], [s["y0"], s["y1"]])
        for s in raw(picture)["layout"]["shapes"]
        if s["line"]["color"] == palette.PINNED
    ]


def test_a_row_of_q_and_a_column_of_k_meet_in_the_cell():
    found = outlines(product())
    assert ("x", [-0.5, 3.5], [2.5, 3.5]) in found  # row 3 of Q
    assert ("x2", [0.5, 1.5], [-0.5, 3.5]) in found  # column 1 of Kᵀ
    assert ("x3", [0.5, 1.5], [2.5, 3.5]) in found  # the cell
    value = f"{STEPS.raw[3, 1]:.2f}".replace("0.", ".", 1)
    assert any(value in text for text in visible(product()))


def test_a_cell_that_is_not_drawn_is_not_outlined():
    found = outlines(product(same, key=90))
    assert {ref for ref, _x, _y in found} == {"x", "x3"}


def test_the_source_rows_of_q_k_and_v_are_outlined():
    found = outlines(side_by_side(same, "qkv"))
    assert [y for _ref, _x, y in found] == [[2.5, 3.5], [0.5, 1.5], [0.5, 1.5]]


def test_lines_are_the_largest_weights_and_those_of_the_pinned_token_stand_out():
    found = bipartite.edges(WEIGHTS, 2, pinned=3)
    for query in range(N_TOKENS):
        keys = found[found[:, 0] == query, 1]
        largest = np.sort(np.nan_to_num(WEIGHTS[query]))[::-1][:2]
        expected = largest[largest >= (bipartite.LEAST if query != 3 else 1e-12)]
        assert np.nan_to_num(WEIGHTS[query])[keys] == pytest.approx(expected)
    shapes = raw(lines())["layout"]["shapes"]
    drawn = sum(shape["path"].count("M") for shape in shapes)
    assert drawn == len(found)
    assert "rgba(213, 94, 0" in " ".join(shape["line"]["color"] for shape in shapes)


def test_lines_of_many_tokens_are_few_paths():
    picture = raw(lines(most=16, pinned=5, n=64))
    assert len(picture["layout"]["shapes"]) <= 2 * bipartite.LEVELS
    assert bytes_sent(lines(most=16, pinned=5, n=64)) < 150_000
    assert len(picture["layout"]["yaxis"]["tickvals"]) == 64


def test_a_token_of_a_long_text_returns_its_number_in_the_text():
    left = raw(lines())["data"][0]
    assert [row[0] for row in left["customdata"]] == [10, 11, 12, 13, 14]


def test_sinks_are_told_apart_and_the_chosen_head_is_pinned():
    (points,) = raw(sinks())["data"]
    assert points["marker"]["symbol"] == ["diamond", "circle", "circle"]
    assert points["marker"]["color"][1] == palette.PINNED
    assert points["customdata"] == [[0, 0], [0, 1], [1, 0]]


def test_a_row_of_the_table_returns_its_head():
    targets = raw(table())["data"][1]
    assert targets["customdata"] == [[0, 0], [0, 0], [0, 1], [0, 1], [1, 0], [1, 0]]
    (outline,) = raw(table())["layout"]["shapes"]
    assert (outline["y0"], outline["y1"]) == (0.5, 1.5)


def test_twelve_times_twelve_heads_are_one_picture_of_less_than_a_megabyte():
    from blocks.inspection import tiles

    seen = pattern(144, 128)
    codes = tiles.tile(tiles.shrink(tiles.encode(seen, seen[0, 0] > 0)[0]), 12)
    told = pd.DataFrame({"head": range(144), "label": "given", "hover": "given"})
    picture = heads.overview(codes, told, columns=12, selected=0, pinned=0.5, _=same)
    assert bytes_sent(picture) < 1_000_000
    assert len([z for z in raw(picture)["data"] if z["type"] == "heatmap"]) == 1


def test_what_lines_are_stands_where_no_sink_does():
    corner, even = raw(sinks())["layout"]["annotations"]
    (shaded, _level) = raw(sinks())["layout"]["shapes"]
    assert corner["xref"] == "x" and corner["x"] > shaded["x1"] and corner["xanchor"] == "left"
    assert even["xanchor"] == "right"
