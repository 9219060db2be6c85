"""Pictures of the wide layer: what is drawn, and that all words are translated."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from drawn import TOKENS, checked, marked, same, visible, words_that_slipped_by

from blocks import ModelConfig
from blocks.inspection.activations import ActivationFacts, Standing, same_bend
from blocks.inspection.permuted import ReachFacts
from blocks.inspection.ratios import Width, WidthFacts
from blocks.inspection.routing import Layout, LayoutFacts, RoutingFacts
from blocks.inspection.units import GateFacts, LayersFacts, LayerUnits, UnitFacts, UnitTokens
from blocks.inspection.wide import Place
from blocks.model.kinds import Activation
from pages.panels.feed_forward import (
    activation_picture,
    experts_picture,
    positions_picture,
    units_picture,
    width_picture,
)

N, N_UNITS = len(TOKENS), 6


def curve_table() -> pd.DataFrame:
    z = np.linspace(-4, 4, 41)
    rows = {
        "relu": (z.clip(0), (z > 0).astype(float)),
        "glu": (1 / (1 + np.exp(-z)), np.exp(-z) / (1 + np.exp(-z)) ** 2),
        "gelu": (z, 0.5 + z / 4),  # its slope crosses zero at -2
    }
    return pd.concat(
        pd.DataFrame({"activation": name, "z": z, "value": value, "slope": slope})
        for name, (value, slope) in rows.items()
    )


PLACE = Place(layer=1, expert=None, n_tokens=N, seed=0)


def bends(chosen: str = "relu", _=same):
    standing = Standing(0.5, 0.5, 0.5, 0.0, outside=0.0, reach=4.0)
    spread = pd.DataFrame({"value": [-1.0, 1.0], "share": [0.25, 0.5]})
    facts = ActivationFacts(PLACE, Activation(chosen), standing, curve_table(), spread)
    names = [f"given {i}" for i in range(len(same_bend()))]
    return activation_picture.bends(facts, names, _=_)


def strongest(n: int = N_UNITS) -> pd.DataFrame:
    number = np.arange(n, dtype=float)
    table = {"unit": 10 * np.arange(n), "pre": number, "gate": number, "up": -number}
    return pd.DataFrame({**table, "hidden": -number * number})


def gate(token: int = 1, selected: int = 20, *, is_gated: bool = True) -> GateFacts:
    shares, numbers = (0.1, 0.2, 0.3, 0.4, 1.0), tuple(range(N))
    shown = token, TOKENS[1], selected, strongest()
    return GateFacts(PLACE, is_gated, *shown, 0.4, shares, numbers, TOKENS)


def factors(selected: int = 20, _=same):
    return activation_picture.factors(gate(selected=selected), _=_)


def closed(pinned: int = 1, _=same):
    return activation_picture.closed(gate(pinned), _=_)


def per_layer(n: int = 3, _=same):
    layers = tuple(LayerUnits(layer, 0.1, 0.2, 0.5) for layer in range(n))
    return units_picture.per_layer(LayersFacts(layers, selected=1), _=_)


def unit_table() -> pd.DataFrame:
    shares = [0.0, 1.0, 0.5, 0.0, 0.25, 0.75]
    dead = {"is_dead": [True] + [False] * 5, "is_saturated": False}
    return pd.DataFrame({"unit": range(6), "active_share": shares, **dead})


def by_activity(_=same):
    facts = UnitFacts(PLACE, off_is_zero=True, units=unit_table(), shown=(2, 4), selected=5)
    return units_picture.by_activity(facts, _=_)


def unit_tokens(hidden, units=(7, 9), tokens=TOKENS, numbers=tuple(range(N)), *, unit=9, pinned=2):
    return UnitTokens(unit, pinned, 0.5, 0.0, units, tuple(numbers), tuple(tokens), hidden)


def unit_map(pinned: int = 2, numbers=tuple(range(N)), _=same):
    hidden = np.arange(2 * N, dtype=float).reshape(2, N) - 3
    facts = unit_tokens(hidden, numbers=numbers, pinned=pinned)
    return units_picture.unit_map(facts, _=_)


def exciting(_=same):
    facts = unit_tokens(
        np.array([[-1.0, 2.0]]), (7,), (TOKENS[0], TOKENS[4]), (0, 4), unit=7, pinned=0
    )
    return units_picture.exciting(facts, _=_)


WIDTHS = WidthFacts(
    widths=tuple(Width(n, 100 * n, 200 * n, n / 10, 1.0) for n in (1, 2, 3)),
    seed=0,
    own_ratio=2.5,
    own_write=9.0,
    is_random=True,
)


def chosen_table() -> pd.DataFrame:
    table = {"token": [0, 0, 1], "expert": [1, 0, 1], "rank": [0, 1, 0]}
    more = {"weight": [0.7, 0.3, 0.0], "share": 0.5, "is_kept": [True, True, False]}
    return pd.DataFrame({**table, **more})


def routing(chosen=None, expert: int | None = 1, room: int = 2) -> RoutingFacts:
    return RoutingFacts(
        is_own=expert is not None,
        seed=0,
        n_active=2,
        token=0,
        expert=expert,
        labels=TOKENS,
        probs=np.full((N, 2), 0.5),
        choices=chosen_table() if chosen is None else chosen,
        load=pd.DataFrame({"expert": [0, 1], "asked": [1, 2], "kept": [1, 2], "dropped": [0, 1]}),
        room=room,
        imbalance=1.0,
        n_dropped=1,
        n_passed=0,
    )


def routes(chosen=None, expert: int | None = 1, _=same):
    return experts_picture.routes(routing(chosen, expert), _=_)


def load(room: int = 2, _=same):
    return experts_picture.load(routing(room=room), _=_)


def totals(_=same):
    mixture, dense = Layout(8, 2, 64, 900, 400, 9), Layout(1, 1, 64, 300, 300, 3)
    return experts_picture.totals(
        LayoutFacts(ModelConfig.from_flat({"n_experts": 8}), mixture, dense, None), _=_
    )


def reached(_=same):
    moved = pd.DataFrame({"feed_forward": [0, 1.2, 0, 0, 0], "attention": [0, 1, 0.5, 0.3, 0.1]})
    return positions_picture.reach(ReachFacts(TOKENS, 3, 1, moved, False, False), _=_)


PICTURES = {
    "bends": bends,
    "factors": factors,
    "closed": closed,
    "per_layer": per_layer,
    "by_activity": by_activity,
    "unit_map": unit_map,
    "exciting": exciting,
    "cost": partial(width_picture.cost, WIDTHS),
    "written": partial(width_picture.written, WIDTHS),
    "routes": routes,
    "load": load,
    "totals": totals,
    "reach": reached,
}
TERMS = {"hidden", "d_ff", "d_model", "ratio"}


@pytest.mark.parametrize("name", PICTURES)
def test_all_words_are_translated_and_all_properties_are_plotlys(name: str):
    assert words_that_slipped_by(PICTURES[name](_=marked)) <= TERMS
    checked(PICTURES[name](_=same))


@pytest.mark.parametrize("name", ["factors", "closed", "unit_map", "exciting", "routes", "reach"])
def test_tokens_are_text_and_no_markup(name: str):
    assert not any("<b>球" in text for text in visible(PICTURES[name](_=same)))


def test_the_chosen_activation_is_strong_and_its_flat_ground_grey():
    picture = bends("relu")
    strong = [t for t in picture.data if t.type == "scatter" and t.line.width > 3]
    assert {(t.name, t.yaxis) for t in strong} == {("given 0", "y"), ("given 0", "y2")}
    (ground,) = picture.layout.shapes
    assert (ground.x0, ground.x1) == (-4, pytest.approx(0.2))  # to where the slope is 1
    assert bends("glu").layout.shapes == ()


def test_where_a_slope_only_crosses_zero_there_is_no_ground():
    assert bends("gelu").layout.shapes == ()


def test_all_three_parts_share_one_axis():
    picture = bends()
    assert {trace.xaxis for trace in picture.data} == {None}
    assert picture.layout.xaxis.anchor == "y3"


def test_what_multiplies_stands_in_one_row():
    picture = factors()
    assert [list(trace.x) for trace in picture.data][2] == strongest()["hidden"].tolist()
    assert [trace.customdata[3][0] for trace in picture.data] == [30, 30, 30]
    assert picture.layout.shapes[0].y0 == 1.5
    assert factors(selected=99).layout.shapes == ()


def test_a_token_that_went_elsewhere_is_not_outlined():
    assert len(closed(pinned=1).layout.shapes) == 1 and closed(pinned=77).layout.shapes == ()
    assert len(unit_map(pinned=2).layout.shapes) == 2
    assert len(unit_map(pinned=77).layout.shapes) == 1


def test_a_click_on_the_map_returns_unit_and_token():
    marks = unit_map(numbers=(3, 4, 5, 8, 9)).data[1]
    assert marks.customdata[N + 3] == [9, 8]
    assert (marks.x[N + 3], marks.y[N + 3]) == (3, 1)


def test_many_cells_are_drawn_by_the_graphics_card():
    many = ["given"] * 256
    facts = unit_tokens(np.zeros((8, 256)), tuple(range(8)), many, range(256), unit=0)
    picture = units_picture.unit_map(facts, _=same)
    assert (picture.data[1].type, unit_map().data[1].type) == ("scattergl", "scatter")


def test_units_are_sorted_and_the_silent_end_is_named():
    picture = by_activity()
    assert list(picture.data[0].y) == [1, 0.75, 0.5, 0.25, 0, 0]
    assert picture.data[1].customdata == ([2, 3], [4, 5], [5, 6])
    assert list(picture.data[1].x) == [3, 4, 2]
    assert picture.layout.annotations[0].text == "never active: 2 (1 dead)"
    assert picture.layout.shapes[0].x0 == 4.5


def test_a_layer_of_one_is_not_outlined():
    assert per_layer(3).layout.shapes[0].x0 == 1.5
    assert per_layer(1).layout.shapes == ()


def test_the_pinned_token_has_its_colour_among_the_exciting():
    first, second = exciting().data[0].marker.color
    assert first != second
    low, high = exciting().layout.xaxis.range
    assert low < -1 and high > 2


def test_far_apart_writes_are_on_a_logarithmic_axis():
    assert width_picture.written(WIDTHS, _=same).layout.yaxis.type == "log"
    near = width_picture.written(replace(WIDTHS, own_write=0.2), _=same)
    assert near.layout.yaxis.type != "log"
    silent = tuple(each._replace(write_rms=0.0) for each in WIDTHS.widths)
    none = width_picture.written(replace(WIDTHS, widths=silent, own_write=0.0), _=same)
    assert none.layout.yaxis.type != "log"


def test_dropped_choices_are_crossed():
    picture = routes()
    kept, dropped = picture.data[1:]
    assert kept.customdata == ([1, 0], [0, 0])
    assert dropped.customdata == ([1, 1],) or list(dropped.customdata) == [[1, 1]]
    assert kept.marker.size[0] > kept.marker.size[1]
    assert len(routes(chosen_table().iloc[:2]).data) == 2
    assert len(routes(expert=None).layout.shapes) == 1


def test_the_load_has_its_even_share_and_its_room():
    picture = load()
    assert list(picture.data[0].x) == [1, 2] and list(picture.data[1].x) == [None, 1]
    assert [trace.x[0] for trace in picture.data[2:]] == [1.5, 2]
    assert len(load(room=0).data) == 3


def test_experts_differ_in_colour():
    assert len({experts_picture.color_of(i) for i in range(16)}) == 16


def test_every_token_can_be_hovered():
    picture = reached()
    hovers = [trace.hovertext for trace in picture.data if trace.hovertext]
    assert [len(each) for each in hovers] == [N, N]
    assert picture.layout.annotations[0].x == 1
    assert picture.layout.shapes[0].x0 == 2.5
