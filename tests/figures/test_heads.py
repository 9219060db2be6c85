"""Attention patterns: each weight at its place, what is masked never drawn as a weight."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from drawn import (
    N_HEADS,
    N_TOKENS,
    TOKENS,
    bytes_sent,
    checked,
    codes_of,
    head_table,
    marked,
    pattern,
    raw,
    same,
    visible,
    weights_of,
    words_that_slipped_by,
)

from blocks.inspection import tiles
from pages.figures import heads, palette
from pages.figures.pattern import KEY_TITLE, head_map
from pages.figures.pattern import cells as cells_of
from pages.figures.row_sums import BAR_ROOM
from pages.panels import inputs_picture


def overview(seen: Any, selected: int = 0, pinned: float = 0.5, _: Any = same) -> go.Figure:
    columns = tiles.columns(seen.shape[1])
    codes = tiles.tile(tiles.shrink(tiles.encode(seen, seen[0, 0] > 0)[0]), columns)
    return heads.overview(
        codes, head_table(seen), columns=columns, selected=selected, pinned=pinned, _=_
    )


def one_head(seen: Any, head: int = 3, pinned: int = 1, _: Any = same, tokens=TOKENS) -> go.Figure:
    codes, weights = codes_of(seen)[head], weights_of(seen, head)
    return head_map(codes, weights, tokens, head=head, pinned=pinned, _=_)


def color_of(heatmap: Any, code: int) -> str:
    """The colour that starts at this code."""
    share = (code - heatmap.zmin) / (heatmap.zmax - heatmap.zmin)
    return [color for at, color in heatmap.colorscale if at <= share + 1e-9][-1]


def click_targets(picture: go.Figure) -> dict[int, np.ndarray]:
    """Where each head can be clicked: head to (n, 2)."""
    trace = next(trace for trace in picture.data if trace.type == "scatter")
    places = np.column_stack((trace.x, trace.y))
    heads_there = np.array([row[0] for row in trace.customdata])
    return {head: places[heads_there == head] for head in sorted(set(heads_there))}


@pytest.mark.parametrize("n_heads", [1, 2, 4, 5, 8, 12, 40])
def test_every_head_stands_where_it_is_clicked(n_heads: int):
    seen = pattern(n_heads)
    picture = checked(overview(seen))
    z = np.asarray(picture.data[0].z)
    targets = click_targets(picture)
    assert list(targets) == list(range(n_heads))
    for head, places in targets.items():
        x, y = np.round(places.mean(axis=0) - (N_TOKENS - 1) / 2).astype(int)
        assert (z[y : y + N_TOKENS, x : x + N_TOKENS] == codes_of(seen)[head]).all()
        assert (places[:, 0] > x - 0.5).all() and (places[:, 0] < x + N_TOKENS - 0.5).all()
        assert (places[:, 1] > y - 0.5).all() and (places[:, 1] < y + N_TOKENS - 0.5).all()


def test_a_layer_names_its_tokens_beside_and_below_every_tile():
    seen, names = pattern(), tuple(TOKENS[:N_TOKENS])
    columns = tiles.columns(N_HEADS)
    codes = tiles.tile(tiles.shrink(tiles.encode(seen, None)[0]), columns)
    look = {"columns": columns, "selected": 0, "pinned": None, "tokens": names}
    picture = checked(heads.overview(codes, head_table(seen), **look, _=same))
    across, down = picture.layout.xaxis, picture.layout.yaxis
    assert (len(across.ticktext), len(down.ticktext)) == (
        columns * N_TOKENS,
        -(-N_HEADS // columns) * N_TOKENS,
    )
    for head, places in click_targets(picture).items():
        row, column = divmod(head, columns)
        x, y = places.mean(axis=0) - (N_TOKENS - 1) / 2
        assert across.tickvals[column * N_TOKENS] == pytest.approx(x)
        assert down.tickvals[row * N_TOKENS] == pytest.approx(y)


def test_all_heads_have_one_scale():
    heatmap = overview(pattern()).data[0]
    assert (heatmap.zmin, heatmap.zmax) == (0, tiles.MOST)
    assert heatmap.z.dtype == np.uint8


@pytest.mark.parametrize("selected", range(N_HEADS))
def test_the_chosen_head_and_no_other_is_outlined(selected: int):
    picture = checked(overview(pattern(), selected))
    (outline,) = [shape for shape in picture.layout.shapes if shape.type == "rect"]
    assert outline.line.color == palette.PINNED
    places = click_targets(picture)[selected]
    assert outline.x0 < places[:, 0].min() and places[:, 0].max() < outline.x1
    assert outline.y0 < places[:, 1].min() and places[:, 1].max() < outline.y1


@pytest.mark.parametrize("token", range(N_TOKENS))
def test_the_pinned_token_is_marked_in_every_tile(token: int):
    picture = checked(overview(pattern(), pinned=(token + 0.5) / N_TOKENS))
    (path,) = [shape.path for shape in picture.layout.shapes if shape.type == "path"]
    marks = [float(mark.partition(",")[2].partition(" ")[0]) for mark in path.split("M ")[1:]]
    tops = [places[:, 1].mean() - (N_TOKENS - 1) / 2 for places in click_targets(picture).values()]
    assert marks == pytest.approx([top + token for top in tops])


def test_every_tile_has_its_title():
    assert [a.text for a in overview(pattern()).layout.annotations] == [
        f"<b>{head}</b>" for head in range(N_HEADS)
    ]


@pytest.mark.parametrize("picture", [overview(pattern()), one_head(pattern())], ids=["all", "one"])
def test_what_is_masked_is_never_drawn_as_a_weight(picture: go.Figure):
    heatmap = picture.data[0]
    assert color_of(heatmap, tiles.MASKED) == palette.MASKED
    assert color_of(heatmap, tiles.GUTTER) == "rgba(0, 0, 0, 0)"
    assert color_of(heatmap, tiles.LEAST) == palette.WEIGHTS[0][1]
    assert color_of(heatmap, tiles.MOST) == palette.WEIGHTS[-1][1]
    assert len({color_of(heatmap, code) for code in (0, 1, 2, tiles.MOST)}) == 4


def test_the_scale_beside_the_map_reads_as_weights():
    bar = checked(one_head(pattern())).data[0].colorbar
    ticks = dict(zip(bar.ticktext, bar.tickvals, strict=True))
    assert (ticks["0"], ticks["1"]) == (tiles.LEAST, tiles.MOST)
    assert bar.title.text == "weight"


def cells(picture: go.Figure) -> tuple[Any, Any]:
    """The cells that can be seen through the mask, and the masked ones."""
    seen, masked = (trace for trace in picture.data if trace.customdata is not None)
    return seen, masked


@pytest.mark.parametrize(("n_tokens", "kind"), [(N_TOKENS, "scatter"), (25, "scattergl")])
def test_only_many_cells_take_one_of_the_few_webgl_contexts(n_tokens: int, kind: str):
    drawn = cells_of(np.zeros((n_tokens, n_tokens)), 0, "", str)
    assert {trace["type"] for trace in drawn} == {kind}


def test_every_cell_can_be_clicked_and_tells_its_query():
    seen, masked = cells(checked(one_head(pattern())))
    places = [*zip(seen.x, seen.y, strict=True), *zip(masked.x, masked.y, strict=True)]
    assert sorted(places) == [(x, y) for x in range(N_TOKENS) for y in range(N_TOKENS)]
    for trace in (seen, masked):
        assert [row[0] for row in trace.customdata] == list(trace.y)


def test_the_weight_under_the_cursor_is_the_weight():
    weights = weights_of(pattern(), 3)
    seen, masked = cells(checked(one_head(pattern())))
    assert [row[1] for row in seen.customdata] == [
        weights[y, x] for x, y in zip(seen.x, seen.y, strict=True)
    ]
    assert "masked" in masked.hovertemplate and "weight" not in masked.hovertemplate
    assert np.isfinite(np.asarray(seen.customdata)).all()


def test_numbers_stand_in_the_cells_that_are_seen():
    weights = weights_of(pattern(), 3)
    numbers = {
        (a.y, a.x): a.text for a in one_head(pattern()).layout.annotations if a.xref != "paper"
    }
    assert numbers.keys() == {tuple(cell) for cell in np.argwhere(~np.isnan(weights)).tolist()}
    assert all(
        float(text) == pytest.approx(weights[cell], abs=0.006) for cell, text in numbers.items()
    )


def test_rows_show_their_sums_at_the_right_and_the_scale_below_so_that_neither_meets_the_other():
    picture = checked(one_head(pattern()))
    sums, bar = picture.layout.yaxis3, picture.data[0].colorbar
    assert (
        list(sums.ticktext) == ["Σ 1.000"] * N_TOKENS and sums.range == picture.layout.yaxis.range
    )
    assert (sums.side, sums.automargin, sums.overlaying) == ("right", True, "y")
    assert "y3" in {trace.yaxis for trace in picture.data}  # or the axis is not drawn
    assert (bar.orientation, bar.yref, bar.yanchor, bar.y) == ("h", "container", "bottom", 0)
    assert picture.layout.margin.b == KEY_TITLE + BAR_ROOM


def test_a_weight_of_a_narrow_cell_has_at_most_three_signs():
    codes, weights = (
        np.full((2, 2), tiles.MOST, dtype=np.uint8),
        np.array([[1.0, 0.996], [0.994, 0]]),
    )
    picture = head_map(codes, weights, ("a", "b"), head=0, pinned=0, _=same)
    texts = [each.text for each in picture.layout.annotations if each.xref != "paper"]
    assert texts == ["1", "1", ".99", ".00"]


def test_a_row_without_a_key_sums_to_nothing():
    codes = np.full((2, 2), tiles.MASKED, dtype=np.uint8)
    weights = np.full((2, 2), np.nan, dtype=np.float32)
    picture = checked(head_map(codes, weights, ("a", "b"), head=0, pinned=0, _=same))
    assert "Σ 0.000" in list(visible(picture))
    assert len(cells(picture)[0].x) == 0


def test_a_part_of_a_long_text_tells_which_query_it_is():
    seen = pattern(1)
    cells = codes_of(seen)[0], weights_of(seen, 0)
    picture = raw(head_map(*cells, TOKENS, head=0, pinned=12, first=10, _=same))
    seen_cells, masked = picture["data"][1:3]
    queries = {int(row[0]) for row in (*seen_cells["customdata"], *masked["customdata"])}
    assert queries == {10, 11, 12, 13, 14}
    assert picture["layout"]["shapes"][0]["y0"] == 1.5


@pytest.mark.parametrize("pinned", range(N_TOKENS))
def test_the_row_of_the_pinned_token_is_outlined(pinned: int):
    (outline,) = one_head(pattern(), pinned=pinned).layout.shapes
    assert (outline.y0, outline.y1) == (pinned - 0.5, pinned + 0.5)
    assert (outline.x0, outline.x1) == (-0.5, N_TOKENS - 0.5)
    assert outline.line.color == palette.PINNED


def test_tokens_are_text_and_short_enough():
    picture = checked(one_head(pattern()))
    for axis in (picture.layout.xaxis, picture.layout.yaxis):
        assert list(axis.tickvals) == list(range(N_TOKENS))
        assert list(axis.ticktext[:3]) == ["given", "&lt;b&gt;球&lt;/b&gt;", "&amp;amp;"]
        assert axis.ticktext[3].endswith("…") and len(axis.ticktext[3]) <= 14


def test_queries_go_down_and_keys_across():
    layout = one_head(pattern()).layout
    assert layout.yaxis.range[0] > layout.yaxis.range[1]
    assert layout.xaxis.range[0] < layout.xaxis.range[1]
    assert "query" in layout.yaxis.title.text
    assert any("key" in a.text for a in layout.annotations)


@pytest.mark.parametrize("n_tokens", [1, 64, 65, 256])
def test_any_length_can_be_drawn_and_named(n_tokens: int):
    tokens = tuple(f"t{i}" for i in range(n_tokens))
    picture = checked(one_head(pattern(1, n_tokens), head=0, pinned=0, tokens=tokens))
    ticks = picture.layout.xaxis
    assert 0 < len(ticks.tickvals) <= 64
    assert list(ticks.ticktext) == [tokens[i] for i in ticks.tickvals]
    assert picture.layout.height < 900


def test_the_mask_is_drawn_in_two_colours():
    picture = checked(inputs_picture.mask_picture(tiles.mask_codes(None, 3), _=same))
    assert (np.asarray(picture.data[0].z) == tiles.MOST).all()
    causal_codes = np.where(np.tri(3, dtype=bool), tiles.MOST, tiles.MASKED).astype(np.uint8)
    z = np.asarray(inputs_picture.mask_picture(causal_codes, _=same).data[0].z)
    assert set(z.flat) == {tiles.MASKED, tiles.MOST}


def test_what_is_sent_is_small():
    seen = pattern(8, 64)
    tokens = tuple(f"token{i}" for i in range(64))
    assert bytes_sent(overview(seen)) + bytes_sent(one_head(seen, tokens=tokens)) < 150_000


def test_a_small_mask_is_small():
    codes = np.full((64, 64), tiles.MOST, dtype=np.uint8)
    assert bytes_sent(inputs_picture.mask_picture(codes, _=same)) < 10_000


def test_every_word_is_translated():
    seen = pattern()
    pictures = [overview(seen, _=marked), one_head(seen, _=marked)]
    pictures.append(inputs_picture.mask_picture(codes_of(seen)[0], _=marked))
    assert [words_that_slipped_by(picture) for picture in pictures] == [set(), set(), set()]
