"""What the panels of the feed-forward layer say and chart: facts filled in by hand."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from drawn import checked, visible
from said_in import in_both

from blocks import ModelConfig
from blocks.inspection.activations import ActivationFacts, Standing
from blocks.inspection.permuted import ReachFacts, Shuffled, ShuffleFacts
from blocks.inspection.ratios import Width, WidthFacts
from blocks.inspection.routing import Layout, LayoutFacts, RoutingFacts
from blocks.inspection.units import GateFacts, LayersFacts, LayerUnits, UnitFacts, UnitTokens
from blocks.inspection.wide import Place
from blocks.model.kinds import Activation, PositionKind, RouterKind
from blocks.model.parts import ExpertsConfig
from pages.figures.chart import Chart, Kind
from pages.figures.drawn_chart import drawn
from pages.panels.feed_forward import (
    activation,
    dead_units,
    expert_cost,
    experts,
    gate,
    positions,
    shared,
    unit,
    width,
)
from pages.panels.feed_forward.experts_picture import color_of, routes

DENSE = Place(layer=1, expert=None, n_tokens=7, seed=3)
LABELS = ("the", "`owl`", "sat")
MARKUP = ("<b>the", "&amp;", "球" * 40)
STANDING = Standing(0.6, 0.25, 0.0004, -0.001, outside=0.0, reach=4.0)
Z = np.linspace(-4, 4, 41)
SLOPES = {"relu": (Z > 0).astype(float), "glu": 1 / (2 + Z**2), "gelu": 0.5 + Z / 4}
CURVES = pd.concat(
    pd.DataFrame({"activation": name, "z": Z, "value": Z, "slope": slope})
    for name, slope in SLOPES.items()
)
SPREAD = pd.DataFrame({"value": [-1.0, 1.0], "share": [0.25, 0.5]})
ACTIVATION = ActivationFacts(DENSE, Activation.GELU, STANDING, CURVES, SPREAD)
UNITS = UnitFacts(
    DENSE,
    off_is_zero=True,
    units=pd.DataFrame(
        {
            "unit": range(4),
            "active_share": [0.0, 0.0, 0.5, 1.0],
            "is_dead": [True, False, False, False],
            "is_saturated": [True, True, False, False],
        }
    ),
    shown=(3, 2),
    selected=3,
)
TOKENS = UnitTokens(
    unit=9,
    pinned=0,
    active_share=0.5,
    saturated_share=0.0,
    units=(4, 9),
    numbers=(0, 1, 2),
    labels=LABELS,
    hidden=np.array([[0, 0, 0], [0.25, 2.0, -1.0]], dtype=np.float32),
)
STRONGEST = pd.DataFrame({"unit": [5], "pre": [1.5], "gate": [0.5], "up": [-2.0], "hidden": [-1.0]})
GATE = GateFacts(DENSE, True, 1, LABELS[1], 5, STRONGEST, 0.4, (0.4,) * 3, (0, 1, 2), LABELS)
WIDTHS = WidthFacts(
    widths=(Width(1, 1000, 2000, 0.1, 2.0), Width(8, 8000, 16000, 0.4, 2.0)),
    seed=3,
    own_ratio=4.0,
    own_write=0.25,
    is_random=True,
)
ROUTING = RoutingFacts(
    is_own=True,
    seed=3,
    n_active=2,
    token=1,
    expert=0,
    labels=LABELS,
    probs=np.full((3, 2), 0.5),
    choices=pd.DataFrame(
        {
            "token": [0, 1, 1],
            "expert": [0, 1, 0],
            "rank": [0, 1, 0],
            "weight": [1.0, 0.25, 0.75],
            "share": 0.5,
            "is_kept": [True, False, True],
        }
    ),
    load=pd.DataFrame({"expert": [0, 1], "asked": [4, 1], "kept": [4, 0], "dropped": [0, 1]}),
    room=0,
    imbalance=1.234,
    n_dropped=0,
    n_passed=0,
)
SAME, OTHER = (0.0, 1.0, True), (0.5, 1.0, False)
SHUFFLED = ShuffleFacts(
    Shuffled("feed_forward", *SAME),
    Shuffled("unmasked", 1e-7, 1.0, True),
    masked=None,
    n_tokens=3,
    n_orders=4,
    position_kind=PositionKind.NONE,
)
MOVED = pd.DataFrame({"feed_forward": [0.0, 1.1, 0.0], "attention": [0.0, 0.5, 0.2]})
REACH = ReachFacts(LABELS, pinned=1, changed=1, moved=MOVED, has_experts=False, has_capacity=False)


def test_the_router_and_what_is_shared(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, experts.says_router, ROUTING)["en"]
    assert "softmax over 2 experts" in said and "sum to 1. Random weights, seed 3." in said
    choice = ExpertsConfig(router_kind=RouterKind.SIGMOID, normalize_top_k=False, routed_scale=2.5)
    fine = replace(ROUTING, choice=replace(choice, n_shared_experts=2), shared_share=0.5)
    said = in_both(monkeypatch, experts.says_router, fine)
    assert "sigmoid" in said["en"] and "times 2.5" in said["en"] and "sigmoid" in said["zh"]
    said = in_both(monkeypatch, experts.says_routes, fine)
    assert (
        "2 shared experts: their output's RMS is 0.50 times" in said["en"]
        and "2 个共享专家" in said["zh"]
    )
    dense = in_both(monkeypatch, experts.says_router, replace(ROUTING, is_own=False))["en"]
    assert dense.startswith("This layer is dense. Shown here are 2 experts, 2 of them active")


def test_where_numbers_come_from(monkeypatch: pytest.MonkeyPatch):
    expert = DENSE._replace(expert=0, seed=None)
    assert in_both(monkeypatch, shared.where, DENSE) == {
        "en": "Layer 2, random weights, seed 3",
        "zh": "第 2 层，随机权重，种子 3",
    }
    said = in_both(monkeypatch, shared.where, expert)["en"]
    assert said == "Layer 2, expert 1 (7 tokens routed to it), trained weights"


def test_the_activation(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, activation.says_activation, ACTIVATION)
    assert said["en"].startswith("Layer 2, random weights, seed 3: 60% of the pre-activations")
    assert "the median is 0.00. Of all token–unit pairs, 25% are off" in said["en"]
    assert "in <\N{NO-BREAK SPACE}0.1% the slope of the activation is below 0.01" in said["en"]
    assert "60%" in said["zh"] and "outside" not in said["en"]
    beyond = replace(ACTIVATION, standing=replace(STANDING, outside=0.02))
    said = in_both(monkeypatch, activation.says_activation, beyond)
    assert said["en"].endswith("2.0% of the pre-activations lie outside the plotted range.")


def test_the_gate(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, gate.says_gate, GATE)
    assert "unit 6 is the strongest: gate 0.500 × value -2.000 = -1.000" in said["en"]
    assert "closed in 40%" in said["en"] and "`ˋowlˋ`" in said["zh"]
    bare = replace(GATE, is_gated=False)
    assert "z = 1.500 becomes -1.000" in in_both(monkeypatch, gate.says_gate, bare)["en"]
    place = DENSE._replace(expert=6)
    elsewhere = replace(GATE, strongest=STRONGEST[:0], place=place)
    said = in_both(monkeypatch, gate.says_gate, elsewhere)["en"]
    assert "was not routed to expert 7" in said


def test_the_units(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, dead_units.says_units, UNITS)
    assert "of 4 units, 1 (25%) are dead, 2 saturated at every token and 2 never" in said["en"]
    assert "median unit is active at 25% of the tokens" in said["en"] and "25%" in said["zh"]
    assert "φ(z) = 0" in in_both(monkeypatch, dead_units.says_definition, UNITS)["en"]
    soft = replace(UNITS, off_is_zero=False)
    assert "|φ(z)| < 0.01" in in_both(monkeypatch, dead_units.says_definition, soft)["zh"]


def test_one_unit(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, unit.says_unit, TOKENS)
    assert said["en"] == (
        "Unit 10 is active at 50% of the tokens and saturated at 0%. "
        "It is strongest at `ˋowlˋ` (2.00), `sat` (-1.00)."
    )
    assert "`ˋowlˋ`（2.00）、`sat`（-1.00）" in said["zh"]


def test_a_unit_with_a_sign_is_strongest_where_its_size_is(monkeypatch):
    hidden = np.array([[0, 0, 0], [0.25, 2.0, -7.0]], dtype=np.float32)
    facts = replace(TOKENS, hidden=hidden)
    assert facts.strongest["hidden"].tolist() == [-7.0, 2.0, 0.25]
    said = in_both(monkeypatch, unit.says_unit, facts)
    assert said["en"].endswith("It is strongest at `sat` (-7.00).")


def test_the_width(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, width.says_width, WIDTHS)["en"]
    assert (
        "As d_ff goes from 1 to 8 times d_model, parameters and FLOPs grow 8.0-fold (1,000 to 8,000"
    ) in said
    assert "from 0.100 to 0.400" in said
    assert "adds an output of RMS 0.250 to a stream of RMS 2.000" in said
    assert "random weights, seed 3" in said
    assert "seed 3" in in_both(monkeypatch, width.says_how, WIDTHS)["en"]


def test_the_routes(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, experts.says_routes, ROUTING)
    assert "Experts chosen for `ˋowlˋ`, out of 2: 1 (75%), 2 (over capacity)." in said["en"]
    assert "chosen 4 times (an equal share would be 2.5" in said["en"] and "1.23" in said["zh"]
    assert said["en"].endswith("There is no capacity limit, so nothing is dropped.")
    full = replace(ROUTING, room=2, n_dropped=3, n_passed=1)
    said = in_both(monkeypatch, experts.says_routes, full)["en"]
    assert "Capacity per expert: 2. Token–expert assignments dropped: 3; tokens" in said
    assert said.endswith(
        "no routed expert processes (left to the residual connection and any shared experts): 1."
    )


def test_the_router(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, experts.says_router, ROUTING)["en"]
    assert (
        "softmax over 2 experts and the choice of the top 2." in said
        and "Random weights, seed 3." in said
    )
    demo = replace(ROUTING, is_own=False)
    said = in_both(monkeypatch, experts.says_router, demo)
    assert "(seed 3)" in said["en"] and "种子 3" in said["zh"]


def test_the_layouts(monkeypatch: pytest.MonkeyPatch):
    mixture, dense = Layout(8, 2, 64, 900, 300, 9), Layout(1, 1, 64, 300, 300, 3)
    config = ModelConfig.from_flat({"n_experts": 8, "n_active_experts": 2})
    facts = LayoutFacts(config, mixture, dense, None)
    said = in_both(monkeypatch, expert_cost.says_layouts, facts)["en"]
    assert "900 parameters, 3.0 times as many as the dense model" in said
    assert "Each token uses 300 of them (33%), with 3.0 times the dense model's" in said
    limited = replace(facts, config=config.replace(expert_capacity=1.0))
    assert "upper bound" in in_both(monkeypatch, expert_cost.says_layouts, limited)["en"]


def test_shuffling(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, positions.says_shuffled, SHUFFLED)["en"]
    assert "With the 3 tokens shuffled (4 orders tried)" in said
    assert "at most 0 (exactly 0)." in said
    assert said.endswith("changes by rounding error only (1.0e-07): it treats tokens as a set.")
    parts = (Shuffled(name, *OTHER) for name in ("feed_forward", "unmasked", "masked"))
    rope = ShuffleFacts(*parts, 3, 4, PositionKind.ROPE)
    said = in_both(monkeypatch, positions.says_shuffled, rope)["en"]
    assert "more than rounding" in said and "since RoPE gives it position information." in said
    assert said.endswith("With this run's mask, attention changes by up to 0.5.")
    bare = replace(rope, position_kind=PositionKind.LEARNED)
    said = in_both(monkeypatch, positions.says_shuffled, bare)["en"]
    assert "Without a mask, the same shuffling changes attention by up to 0.5." in said


def test_reach(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, positions.says_reach, REACH)["en"]
    assert "The input of `ˋowlˋ` (position 2)" in said
    assert said.endswith("changed: 1 of 3; attention outputs: 2 of 3.")
    moved = MOVED.assign(feed_forward=0.5)
    other = replace(REACH, pinned=2, moved=moved, has_experts=True)
    said = in_both(monkeypatch, positions.says_reach, other)["en"]
    assert "Only `sat` itself" in said and said.endswith("its outputs may be rounded differently.")
    limited = replace(other, has_capacity=True)
    assert "displace others" in in_both(monkeypatch, positions.says_reach, limited)["en"]


LAYOUTS = LayoutFacts(
    ModelConfig.from_flat({"n_experts": 8}),
    Layout(8, 2, 64, 900, 300, 9),
    Layout(1, 1, 64, 300, 300, 3),
    None,
)
LAYERS = LayersFacts(tuple(LayerUnits(layer, 0.1, 0.004, 0.5) for layer in range(3)), selected=1)
CHARTS = (
    activation.bends(replace(ACTIVATION, chosen=Activation.RELU)),
    gate.closed(replace(GATE, labels=MARKUP)),
    gate.factors(replace(GATE, token_label=MARKUP[0])),
    dead_units.per_layer(LAYERS),
    dead_units.by_activity(UNITS),
    unit.exciting(replace(TOKENS, labels=MARKUP)),
    width.cost(WIDTHS),
    width.written(WIDTHS),
    experts.load(ROUTING),
    expert_cost.totals(LAYOUTS),
    positions.reach(replace(REACH, labels=MARKUP)),
)


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.title)
def test_each_chart_can_be_drawn_and_has_numbers_and_its_tokens_are_no_markup(chart: Chart):
    shown = checked(drawn(chart))
    assert not any("<b>the" in text for text in visible(shown))
    assert len(chart.table()) == sum(len(chart.table_of(each)) for each in chart.series)


def test_the_chosen_activation_is_strong_and_its_flat_ground_gray():
    chart = CHARTS[0]
    strong = [each.plot for each in chart.series if each.kind is Kind.LINE and each.look.width > 3]
    assert strong == [0, 1] and [each.x0 for each in chart.grounds] == [-4]
    assert chart.grounds[0].x1 == pytest.approx(0.2)  # to where the slope is 1
    assert activation.bends(replace(ACTIVATION, chosen=Activation.GLU)).grounds == []
    assert activation.bends(ACTIVATION).grounds == []  # its slope only crosses zero


def test_units_are_sorted_and_the_silent_end_is_named():
    chart = dead_units.by_activity(replace(UNITS, shown=(3,), selected=2))
    every, some = (chart.table_of(each) for each in chart.series)
    assert every["active_share"].tolist() == [1, 0.5, 0, 0] and some["unit"].tolist() == [3, 2]
    assert chart.words[0].text == "never active: 2 (1 dead)" and chart.grounds[0].x0 == 2.5
    assert dead_units.per_layer(LAYERS).grounds[0].x0 == 1.5
    assert dead_units.per_layer(replace(LAYERS, layers=LAYERS.layers[:1])).grounds == ()


def test_what_is_looked_at_is_marked():
    assert (
        gate.factors(GATE).outlined == [0]
        and gate.factors(replace(GATE, selected=9)).outlined == []
    )
    assert len(gate.factors(replace(GATE, is_gated=False)).series) == 2
    assert len(gate.closed(GATE).grounds) == 1 and not gate.closed(replace(GATE, token=9)).grounds
    assert gate.closed(replace(GATE, numbers=())) is None
    first, second, _third = unit.exciting(replace(TOKENS, pinned=1)).series[0].look.color
    assert first != second
    outlines = [len(unit.unit_map(t).layout.shapes) for t in (TOKENS, replace(TOKENS, pinned=9))]
    assert outlines == [2, 1]


def test_a_click_on_the_map_returns_unit_and_token():
    marks = unit.unit_map(replace(TOKENS, numbers=(3, 4, 8))).data[1]
    assert marks.customdata[5] == [9, 8] and (marks.x[5], marks.y[5]) == (2, 1)
    many = np.zeros((8, 256), dtype=np.float32)
    wide = replace(TOKENS, units=tuple(range(2, 10)), labels=LABELS[:1] * 256, hidden=many)
    drawn_by = unit.unit_map(replace(wide, numbers=tuple(range(256)))).data[1].type
    assert (drawn_by, marks.type) == ("scattergl", "scatter")


def test_far_apart_writes_are_on_a_logarithmic_axis():
    near, far = replace(WIDTHS, own_write=0.2), replace(WIDTHS, own_write=9.0)
    silent = tuple(each._replace(write_rms=0.0) for each in WIDTHS.widths)
    none = replace(WIDTHS, widths=silent, own_write=0.0)
    assert [width.written(each).y.is_log for each in (near, far, none)] == [False, True, False]


def test_dropped_choices_are_crossed_and_the_load_has_its_even_share_and_its_room():
    _cells, kept, dropped = routes(ROUTING, _=str).data
    assert kept.customdata == ([0, 0], [0, 1]) and list(dropped.customdata) == [[1, 1]]
    assert len(routes(replace(ROUTING, expert=None), _=str).layout.shapes) == 1
    full = experts.load(replace(ROUTING, room=2))
    assert [full.table_of(each)["x"][0] for each in full.series[2:]] == [2.5, 2]
    assert len(experts.load(ROUTING).series) == 3
    assert len({color_of(i) for i in range(16)}) == 16
