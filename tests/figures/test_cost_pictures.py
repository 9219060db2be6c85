"""Pictures of the page of costs: bars of FLOPs and bytes, and lines that cross."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from drawn import checked, marked, same, words_that_slipped_by

from blocks import ModelConfig
from blocks.cost.crossover import CrossoverFacts
from blocks.cost.device_fit import FitFacts
from blocks.cost.fit import Need
from blocks.cost.need import MemoryFacts, Variant
from blocks.cost.passes import Operation, PassKind
from blocks.cost.setup import Setup
from blocks.cost.step import PassTotal, Shape, StepFacts
from blocks.cost.training_cost import TrainingCost
from blocks.cost.training_plan import OnDevice, Plan, TrainingFacts
from pages.figures.drawn_chart import drawn as drawn_chart
from pages.panels.cost.fits_chart import apart, draw_growth
from pages.panels.cost.flops_picture import crossing, operation_bars
from pages.panels.cost.memory_picture import memory_bars
from pages.panels.cost.training_picture import hours_bars, waterfall

UNITS = {"GFLOP", "FLOP", "GB", "ms"}
NAMES = {"weights": "given", "activations": "given"}


TOTAL = PassTotal(PassKind.TRAINING, 18 * 10**9, 10)
LETTERS = {name: f"given {name}" for name in "ab"} | {"c": "given c <b>"}
SHARES = ["given"] * 3


def operations(*, is_training: bool = True) -> StepFacts:
    groups, forward = ("attention", "cross_attention", "feed_forward"), (1, 2, 3)
    found = tuple(
        Operation(
            name,
            group,
            formula="given",
            numbers="given",
            forward=each * 10**9,
            backward=2 * each * 10**9 * is_training,
            recomputed=each * 10**9 * (is_training and name == "b"),
        )
        for name, group, each in zip("abc", groups, forward, strict=True)
    )
    return StepFacts(ModelConfig(), Setup(), found, (TOTAL,), TOTAL, 100, 50, None)


def crossed(*, at: float = 256.0, n: int = 100) -> CrossoverFacts:
    lengths = np.array([16, 100, 256, 1024])
    growth = pd.DataFrame({"n": lengths, "weights": 256.0 * lengths, "pairs": 1.0 * lengths**2})
    return CrossoverFacts(n, at, 64, 0.25, is_causal=True, formula="given", growth=growth)


def memory() -> MemoryFacts:
    needs = (Need(weights=4 * 10**9, activations=10**9), Need(2 * 10**9, activations=7 * 10**9))
    variants = tuple(Variant("given", Setup(), need) for need in needs)
    return MemoryFacts(
        is_training=True,
        here="cpu",
        shape=Shape(16, 1),
        variants=variants,
        state=4 * 10**9,
        n_parameters=10**9,
        cache_per_token=0,
        activations=None,
        has_head_bias=False,
        has_dropout=False,
        devices=(),
    )


def memory_picture(lines: list[tuple[str, int]], _=same):
    return memory_bars(memory(), NAMES, ["given a", "given b <b>"], lines, title="", _=_)


def grown() -> FitFacts:
    n = [64, 128, 200, 256]
    table = pd.DataFrame({"n": n, "weights": 1e9, "activations": [1e6 * each for each in n]})
    return FitFacts(
        is_training=True,
        here="cpu",
        shape=Shape(200, 1),
        n_devices=1,
        usable=0.9,
        devices=(),
        lines=(),
        growth=table.assign(total=table["weights"] + table["activations"]),
        twice=10**9,
        has_cache=False,
        most_positions=0,
    )


COST = TrainingCost(rule=10, tables=-4, vectors=0, idle=0, pairs=1, rest=0, exact=7, recomputed=0)
PLANNED = TrainingFacts(
    plan=Plan(100, "t4", 4, 0.5, 0.9),
    setup=Setup(),
    n_parameters=10,
    optimal_tokens=200,
    tokens_per_parameter=10.0,
    cost=COST,
    devices=(
        OnDevice("l4", 1e12, 14_400.0, 3600.0, 2, is_enough=True),
        OnDevice("t4", 1e12, 432_000.0, 108_000.0, 8, is_enough=False),
    ),
    is_block=False,
)


STEPS = [f"given {i}" for i in range(4)]
PICTURES = {
    "operations": lambda _: operation_bars(operations(), LETTERS, SHARES, title="", _=_),
    "crossing": lambda _: crossing(crossed(), _=_),
    "memory": lambda _: memory_picture([("given 8", 8 * 10**9), ("given far", 10**12)], _),
    "waterfall": lambda _: waterfall(PLANNED, STEPS, _=_),
    "hours": lambda _: hours_bars(PLANNED, title="", _=_),
}


@pytest.mark.parametrize("name", PICTURES)
def test_every_word_is_translated_and_every_property_is_known(name: str):
    assert words_that_slipped_by(PICTURES[name](marked)) <= UNITS
    checked(PICTURES[name](same))


def bars(picture) -> list:
    return [trace for trace in picture.data if trace.type == "bar" and trace.x[0] is not None]


def test_ways_are_stacked_and_only_those_that_are_there():
    forward, back, again = bars(operation_bars(operations(), LETTERS, SHARES, title="", _=same))
    assert list(forward.x) == [1e9, 2e9, 3e9]
    assert list(back.x) == [2e9, 4e9, 6e9]
    assert list(again.x) == [0, 2e9, 0]
    only = operation_bars(operations(is_training=False), LETTERS, SHARES, title="", _=same)
    assert len(bars(only)) == 1
    assert not any(trace.showlegend for trace in only.data)


def test_the_crossing_is_marked_where_the_lines_meet():
    traces = {trace.name: trace for trace in crossing(crossed(), _=same).data}
    (mark,) = (trace for name, trace in traces.items() if name.startswith("equal at"))
    assert (mark.x[0], mark.y[0]) == (256, 256 * 256)
    own = traces["your n = 100"]
    assert list(own.x) == [100, 100] and list(own.y) == [25_600, 10_000]


def test_devices_far_beyond_the_bars_are_left_out():
    picture = PICTURES["memory"](same)
    assert [shape.x0 for shape in picture.layout.shapes] == [8 * 10**9]
    assert [note.text for note in picture.layout.annotations] == ["given 8"]


def test_no_line_of_a_device_meets_a_number_or_a_name():
    lines = [("given a", 2 * 10**9), ("given b", 5 * 10**9), ("given c", 9 * 10**9)]
    picture = memory_picture(lines)
    shapes, notes = picture.layout.shapes, picture.layout.annotations
    (ends,) = (trace for trace in picture.data if trace.type == "scatter")
    assert min(ends.x) >= max(shape.x0 for shape in shapes)
    for i, note in enumerate(notes):
        assert note.xanchor == "right"
        assert all(shape.y1 < note.y for shape in shapes[:i])  # those of smaller ones end above it


def test_the_crossing_is_named_where_there_is_room():
    for at, side in ((20.0, "right"), (1000.0, "left")):
        marks = [trace for trace in crossing(crossed(at=at, n=16), _=same).data if trace.text]
        assert marks[0].textposition == f"top {side}"


def test_names_of_devices_do_not_stand_on_each_other():
    lines = [("given", size * 10**9) for size in (24, 16, 17, 100, 40)]
    assert [size for _name, size in apart(lines)] == [16e9, 40e9, 100e9]
    picture = drawn_chart(draw_growth(replace(grown(), lines=(("h200-sxm", 10**9),))))
    assert picture.layout.shapes[0].y0 == 1e9 and list(picture.data[-1].x) == [200]


def test_each_change_is_said_beside_its_bar():
    _bars, ends = waterfall(PLANNED, STEPS, _=same).data
    assert list(ends.x) == [10, 10, 7, 7]


def test_the_chosen_device_stands_out_and_those_that_cannot_hold_it_are_hatched():
    (found,) = hours_bars(PLANNED, title="", _=same).data
    assert found.marker.color[0] != found.marker.color[1]
    assert list(found.marker.pattern.shape) == ["", "/"]
