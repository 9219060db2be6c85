"""The block drawn, and the values at each stage: where things stand, how wide, how named."""

import re
from itertools import pairwise, product
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import pytest
from drawn import checked, marked, same, stages, visible, words_that_slipped_by

from blocks.model.kinds import NormPlacement
from pages.figures import flow, palette
from pages.figures.described import described
from pages.figures.large import LINE, enlarged
from pages.figures.theme import faint
from pages.panels.block.strip_picture import BRANCH, MOST_WIDTH, TRUNK, block_strip

BLOCKS = [
    {
        "norm_placement": placement,
        "norm_kind": norm,
        "position_kind": position,
        "residual": residual,
    }
    for placement, norm, position, residual in product(
        NormPlacement, ("layernorm", "none"), ("sinusoidal", "rope"), (True, False)
    )
]
every_block = pytest.mark.parametrize("block", BLOCKS, ids=lambda b: "-".join(map(str, b.values())))


def strip(table: pd.DataFrame, selected: str = "") -> go.Figure:
    return checked(block_strip(table, selected=selected, _=same))


def parts(picture: go.Figure, table: pd.DataFrame) -> dict[str, Any]:
    """The box or circle of each stage."""
    drawn = [shape for shape in picture.layout.shapes if shape.type != "path"]
    return dict(zip(table["stage"], drawn, strict=True))


def wires(picture: go.Figure, table: pd.DataFrame) -> dict[tuple[str, str], Any]:
    """The wire between each two stages."""
    ends = [(source, row.stage) for row in table.itertuples() for source in row.reads]
    drawn = [shape for shape in picture.layout.shapes if shape.type == "path"]
    return dict(zip(ends, drawn, strict=True))


def corners(wire: Any) -> list[tuple[float, float]]:
    numbers = [float(number) for number in re.findall(r"-?[\d.]+", wire.path)]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def column(part: Any) -> float:
    return (part.x0 + part.x1) / 2


@every_block
@pytest.mark.thinned
def test_no_wire_passes_through_a_part_that_it_does_not_join(block: dict):
    table = stages(**block)
    picture = strip(table)
    for ends, wire in wires(picture, table).items():
        points = corners(wire)
        for (xa, ya), (xb, yb) in pairwise(points):
            for stage, part in parts(picture, table).items():
                misses = (
                    max(xa, xb) <= part.x0
                    or min(xa, xb) >= part.x1
                    or max(ya, yb) <= part.y0
                    or min(ya, yb) >= part.y1
                )
                assert misses or stage in ends


@every_block
@pytest.mark.thinned
def test_every_wire_starts_and_ends_at_its_parts(block: dict):
    table = stages(**block)
    picture = strip(table)
    part_of = parts(picture, table)
    for (source, target), wire in wires(picture, table).items():
        for (x, y), part in zip(
            corners(wire)[:: len(corners(wire)) - 1],
            (part_of[source], part_of[target]),
            strict=True,
        ):
            assert part.x0 <= x <= part.x1
            assert part.y0 <= y <= part.y1


@every_block
@pytest.mark.thinned
def test_all_is_drawn_within_the_picture(block: dict):
    picture = strip(stages(**block))
    least_x, most_x = picture.layout.xaxis.range
    most_y, least_y = picture.layout.yaxis.range
    for shape in picture.layout.shapes:
        points = (
            corners(shape) if shape.type == "path" else [(shape.x0, shape.y0), (shape.x1, shape.y1)]
        )
        assert all(least_x <= x <= most_x and least_y <= y <= most_y for x, y in points)


def test_norms_stand_on_the_branch_in_pre_and_on_the_trunk_in_post():
    columns = {}
    for placement in ("pre", "post"):
        table = stages(norm_placement=placement)
        norms = table.loc[table["part"] == "norm", "stage"]
        part_of = parts(strip(table), table)
        columns[placement] = {column(part_of[stage]) for stage in norms}
    assert columns == {"pre": {BRANCH}, "post": {TRUNK}}


def test_attention_and_feed_forward_always_stand_on_the_branch():
    for block in BLOCKS:
        table = stages(**block)
        part_of = parts(strip(table), table)
        assert column(part_of["attention_out"]) == column(part_of["feed_forward_out"]) == BRANCH


def test_wires_are_as_wide_as_what_passes_through_them():
    table = stages()
    table["rms"] = [3.0, 1.0, 4.0, 1.5, 9.0, 2.5, 6.0, 5.0]
    rms = table.set_index("stage")["rms"]
    drawn = wires(strip(table), table)
    by_rms = sorted(drawn, key=lambda ends: rms[ends[0]])
    widths = [drawn[ends].line.width for ends in by_rms]
    assert widths == sorted(widths)
    assert len(set(widths)) == rms[[source for source, _ in by_rms]].nunique()
    assert all(1 <= width <= MOST_WIDTH for width in widths)


@pytest.mark.parametrize("rms", [0.0, 1e-30, 1e30])
def test_wires_of_any_size_can_be_drawn(rms: float):
    picture = strip(stages().assign(rms=rms))
    assert all(1 <= s.line.width <= MOST_WIDTH for s in picture.layout.shapes if s.type == "path")


def test_a_part_has_the_colour_of_its_role():
    table = stages()
    part_of = parts(strip(table), table)
    roles = {
        "attention_out": palette.ATTENTION,
        "feed_forward_out": palette.FEED_FORWARD,
        "attention_norm": palette.NORM,
    }
    for stage, color in {**roles, "resid_mid": palette.RESIDUAL}.items():
        assert part_of[stage].line.color == color
        assert part_of[stage].fillcolor == faint(color, 0.16)
    assert part_of["resid_mid"].type == "circle"


def test_the_open_stage_and_no_other_is_outlined():
    table = stages()
    outlined = [
        s
        for s, part in parts(strip(table, "resid_mid"), table).items()
        if part.line.color == palette.PINNED
    ]
    assert outlined == ["resid_mid"]


def test_a_click_on_a_part_tells_its_stage():
    table = stages()
    picture = strip(table)
    (targets,) = picture.data
    part_of = parts(picture, table)
    assert targets.marker.opacity == 0
    assert [row[0] for row in targets.customdata] == list(table["stage"])
    for stage, x, y in zip(table["stage"], targets.x, targets.y, strict=True):
        assert (x, y) == (column(part_of[stage]), (part_of[stage].y0 + part_of[stage].y1) / 2)


def test_each_part_tells_its_label_and_rms_and_the_first_the_shape():
    table = stages()
    shown = "\n".join(visible(strip(table)))
    assert shown.count("(1, 5, 16) · RMS") == 1
    for row in table.itertuples():
        assert f"RMS {row.rms:.2f}" in shown
        assert row.part == "residual" or f"given {row.Index} &lt;b&gt;" in shown


def test_a_long_label_stands_in_two_lines_and_keeps_to_its_box():
    shown = visible(strip(stages().assign(label="norm after attention", detail="")))
    assert "<b>norm after<br>attention</b>" in shown
    assert "<b>norm 1</b>" in visible(strip(stages().assign(label="norm 1", detail="")))


def bands(table: pd.DataFrame, before: pd.DataFrame | None = None) -> go.Figure:
    return checked(flow.bands(table, before, _=same))


def named(picture: go.Figure, name: str) -> list[Any]:
    return [trace for trace in picture.data if trace.name == name]


def test_bands_are_the_moments():
    table = stages()
    least_to_most, around_mean = (trace for trace in bands(table).data if trace.type == "bar")
    assert list(least_to_most.base) == list(table["min"])
    assert list(least_to_most.x) == list(table["max"] - table["min"])
    assert list(around_mean.base) == list(table["mean"] - table["std"])
    assert list(around_mean.x) == list(2 * table["std"])
    (means,) = named(bands(table), "mean")
    assert list(means.x) == list(table["mean"])


@every_block
@pytest.mark.thinned
def test_both_pictures_have_one_row_a_stage_at_the_same_height(block: dict):
    table = stages(**block)
    drawing, values = strip(table), bands(table)
    assert drawing.layout.height == values.layout.height
    assert drawing.layout.yaxis.range == values.layout.yaxis.range
    assert drawing.layout.margin.t == values.layout.margin.t
    assert drawing.layout.margin.b == values.layout.margin.b
    assert list(drawing.data[0].y) == list(values.layout.yaxis.tickvals)


def test_a_ghost_is_drawn_only_where_there_is_a_setting_before():
    table = stages()
    name = "before: mean ± std"
    assert named(bands(table), name) == []
    (ghost,) = named(bands(table, table), name)
    assert sorted(ghost.x) == sorted(
        [*(table["mean"] - table["std"]), *(table["mean"] + table["std"])]
    )
    assert ghost.marker.line.color == palette.BEFORE


def test_the_ghost_has_only_stages_that_are_still_there():
    before, now = stages(norm_placement="post"), stages(norm_placement="parallel")
    (ghost,) = named(bands(now, before), "before: mean ± std")
    row_of = {stage: i for i, stage in enumerate(now["stage"])}
    kept = before[before["stage"].isin(row_of)]
    assert 0 < len(kept) < len(before)
    assert list(ghost.y) == 2 * [row_of[stage] for stage in kept["stage"]]
    assert list(ghost.x[: len(kept)]) == list(kept["mean"] - kept["std"])


def test_rows_and_axes_are_named():
    table = stages()
    picture = bands(table)
    assert picture.layout.xaxis.title.text == "value"
    assert picture.layout.yaxis.ticktext[0] == "given 0 &lt;b&gt;"
    assert {"min to max", "mean ± std", "mean"} <= {trace.name for trace in picture.data}


@every_block
@pytest.mark.thinned
def test_every_word_is_translated(block: dict):
    table = stages(**block)
    drawing = block_strip(table, selected="resid_pre", _=marked)
    values = flow.bands(table, stages(), _=marked)
    assert words_that_slipped_by(drawing) == words_that_slipped_by(values) == set()


@every_block
@pytest.mark.thinned
def test_no_text_of_the_back_row_covers_a_box(block: dict):
    table = stages(**block)
    large = enlarged(block_strip(table, selected="", _=same))
    top, bottom = large.layout.margin.t, large.layout.margin.b
    low, high = large.layout.yaxis.range
    row = (large.layout.height - top - bottom) / (low - high)
    line = LINE / row
    for text in large.layout.annotations[len(table) :]:
        above = {"bottom": line, "middle": line / 2}[text.yanchor]
        for part in parts(large, table).values():
            is_beside = text.x >= part.x1 or text.y - above >= part.y1 or text.y <= part.y0
            assert is_beside or part.type == "circle"


def test_the_flow_is_said_stage_by_stage():
    table = stages()
    assert "given 0 <b>: RMS 0.25" in described(block_strip(table, selected="", _=same), _=same)
    said = described(flow.bands(table, None, _=same), _=same)
    row = table.iloc[1]
    mean = f"{row['mean']:.2f}".replace("-", "−")
    assert f"{row['label']} {mean} ± {row['std']:.2f}" in said
