"""Pictures of norms, placements and depth: the numbers given are the numbers drawn."""

import numpy as np
import pandas as pd
import pytest
from drawn import TOKENS, checked, codes_of, marked, pattern, raw, same, words_that_slipped_by

from blocks.inspection.depth_facts import LayerCurves
from blocks.inspection.norm_compared import NormFacts, NormInput
from blocks.inspection.placements import Placed, PlacementFacts
from blocks.model.placements import PLACEMENTS
from pages.figures import palette
from pages.panels.normalization import axes_picture, depth_picture, placements_picture
from pages.panels.normalization.axes_picture import COLORS, OTHER, SHARED

NAMES = {name: f"given{i}" for i, name in enumerate(("input", "layernorm", "rmsnorm"))}
PLACES = {name: f"given{i}" for i, name in enumerate((*PLACEMENTS, "trained", "random"))}
MEASURES = ("parameter_gradient", "stream_norm", "similarity")


def axes(batch: int = 2, pinned: int = 1, _=same):
    shape = NormInput(batch, TOKENS, 16, padding_per_sequence=0)
    return axes_picture.shared_cells(shape, pinned=pinned, _=_)


def curves(n_layers: int = 4, **values: float) -> pd.DataFrame:
    """Two placements, three measures, a value that grows with the layer."""
    rows = [
        (placement, measure, layer, values.get(measure, 1.0) * (layer + 1) * (1 + i))
        for i, placement in enumerate(("pre", "post"))
        for measure in MEASURES
        for layer in range(n_layers + 1)
    ]
    table = pd.DataFrame(rows, columns=["placement", "measure", "layer", "median"])
    return table.assign(least=table["median"] * 0.9, most=table["median"] * 1.1)


def panels(table: pd.DataFrame, before: pd.DataFrame | None = None, _=same):
    found, ghost = (
        None if each is None else LayerCurves(int(each["layer"].max()), each, even_bits=2.0)
        for each in (table, before)
    )
    return depth_picture.panels(found, PLACES, title="given", before=ghost, _=_)


def outputs(n: int = 5) -> pd.DataFrame:
    frames = [
        pd.DataFrame({"norm": name, "token": range(n), "feature": range(n)}).assign(
            mean=np.arange(n) - i, std=1.0 + i, rms=np.arange(n)[::-1] + i
        )
        for i, name in enumerate(NAMES)
    ]
    return pd.concat(frames, ignore_index=True)


def norms() -> NormFacts:
    nothing = pd.DataFrame()
    return NormFacts(TOKENS, outputs(), outputs(), nothing, nothing, True, True)


def placed(codes, *, spread: float = 1.0) -> Placed:
    table = pd.DataFrame({"value": np.linspace(-spread, spread, 9), "density": 1 / spread})
    return Placed({"mean": 0.0, "std": spread, "rms": spread}, table, table, codes)


def in_placements(*, widest: float = 1.0, codes=None, own: str = "pre") -> PlacementFacts:
    codes = list(codes_of(pattern(len(PLACEMENTS)))) if codes is None else codes
    found = {
        name: placed(codes[i], spread=widest if i == 0 else 1.0)
        for i, name in enumerate(PLACEMENTS)
    }
    return PlacementFacts(layer=0, head=0, own=own, placed=found)


def all_pictures(_):
    last = curves().rename(columns={"layer": "n_layers"}).query("measure == 'stream_norm'")
    yield axes(_=_)
    yield panels(curves(), curves(), _=_)
    yield depth_picture.last_gradients(last[last["n_layers"] > 0], PLACES, _=_)
    yield axes_picture.of_tokens(norms(), NAMES, pinned=1, _=_)
    yield axes_picture.of_features(norms(), NAMES, _=_)
    yield placements_picture.spreads(in_placements(), PLACES, _=_)
    yield placements_picture.spreads(in_placements(widest=10.0), PLACES, _=_)
    yield placements_picture.patterns(in_placements(), PLACES, pinned=0.5, _=_)


def test_all_is_legal_for_plotly_and_translated():
    for picture in all_pictures(marked):
        checked(picture)
        rest = words_that_slipped_by(picture) - {*axes_picture.NORMS}
        assert rest == set()


def shared_cells(picture, first: float, last: float) -> list[tuple[float, float]]:
    """Coloured cells whose left side lies between two places: (x, y)."""
    return [
        (round(float(base + 0.45), 2), round(float(y), 2))
        for trace in picture.data
        if trace.marker.color == COLORS[SHARED]
        for base, y in zip(trace.base, trace.y, strict=True)
        if first <= base + 0.45 < last
    ]


@pytest.mark.parametrize("batch", [1, 2, 9])
def test_a_row_shares_for_layernorm_and_a_column_for_batchnorm(batch: int):
    picture = axes(batch, pinned=3)
    width = axes_picture.MOST_FEATURES + axes_picture.AXES_GAP
    row = shared_cells(picture, 0, width - 1)
    assert len(row) == axes_picture.MOST_FEATURES and {y for _x, y in row} == {3}
    column = shared_cells(picture, 2 * width, 3 * width)
    assert len({x for x, _y in column}) == 1
    assert len(column) == len(TOKENS) * min(batch, axes_picture.MOST_SEQUENCES)
    others = sum(len(t.x) for t in picture.data if t.marker.color == COLORS[OTHER])
    n_cells = 3 * axes_picture.MOST_FEATURES * len(column)
    assert others == n_cells - 2 * len(row) - len(column)
    assert all(shape.line.color == palette.PINNED for shape in picture.layout.shapes)


def test_a_pinned_token_far_behind_is_among_those_drawn():
    assert axes_picture.shown_tokens(100, 70, 12)[-1] == 70
    assert len(axes_picture.shown_tokens(100, 70, 12)) == 12
    assert axes_picture.shown_tokens(3, 1, 12) == [0, 1, 2]


def test_features_stand_in_the_order_of_the_inputs_own():
    picture = axes_picture.of_features(norms(), NAMES, _=same)
    rms = next(t for t in picture.data if t.yaxis == "y3" and t.legendgroup == "input")
    assert list(rms.y) == sorted(rms.y) and rms.text[0] == "feature 5"


def test_curves_are_drawn_as_given_with_their_band():
    table = curves()
    picture = panels(table)
    line = next(t for t in picture.data if t.legendgroup == "post" and t.name == PLACES["post"])
    expected = table[(table["placement"] == "post") & (table["measure"] == MEASURES[0])]
    assert list(line.y) == list(expected["median"])
    band = next(t for t in picture.data if t.fill == "toself" and t.legendgroup == "post")
    n = len(expected)
    assert list(band.y[:n]) == list(expected["most"])
    assert list(band.y[n:]) == list(expected["least"])[::-1]


def test_gradients_are_logarithmic_and_likeness_never_is():
    layout = panels(curves(similarity=1e-4)).layout
    assert layout.yaxis.type == "log" and layout.yaxis3.type != "log"
    assert layout.yaxis2.type != "log"
    wide = curves(20)
    wide.loc[wide["measure"] == "stream_norm", ["median", "least", "most"]] **= 4
    assert panels(wide).layout.yaxis2.type == "log"


def test_what_is_no_number_or_zero_on_a_logarithmic_scale_is_left_out():
    table = curves()
    numbers = ["median", "least", "most"]
    table.loc[(table["layer"] == 2), numbers] = np.nan
    table.loc[(table["layer"] == 3) & (table["measure"] == "parameter_gradient"), numbers] = 0
    picture = panels(table)
    lines = [t for t in picture.data if t.fill is None]
    assert all(np.isfinite(t.y).all() for t in lines)
    gradient = next(t for t in lines if t.legendgroup == "pre" and t.yaxis == "y")
    assert list(gradient.x) == [0, 1, 4]
    nothing = table.assign(median=0.0, least=0.0, most=0.0)
    assert panels(nothing).layout.yaxis.type != "log"
    empty = table.assign(median=np.nan).rename(columns={"layer": "n_layers"})
    assert depth_picture.last_gradients(empty, PLACES, _=same).layout.yaxis.type == "log"


def test_the_setting_before_is_a_ghost():
    names = [t.name for t in panels(curves(), curves()).data]
    assert names.count("previous settings") == len(MEASURES)


def test_one_measure_alone_has_room_and_no_second_axis():
    table = curves()
    found = LayerCurves(4, table, even_bits=2.0)
    alone, every = panels(found.only("similarity").table), panels(table)
    assert {t.yaxis for t in alone.data} == {"y"} and list(alone.layout.yaxis.domain) == [0, 1]
    assert "Similarity" in alone.layout.title.text
    assert every.layout.height / len(MEASURES) < alone.layout.height < every.layout.height
    assert found.only("entropy_bits") is found


def test_ticks_of_a_logarithmic_axis_span_the_setting_before_as_well():
    faded = curves(parameter_gradient=1e-7)
    ticks = panels(curves(), faded).layout.yaxis.tickvals
    assert min(ticks) < 1e-5


@pytest.mark.parametrize("powers", [(-30, 0), (0, 1), (-2, 2), (0, 38)])
def test_a_logarithmic_axis_has_a_handful_of_ticks(powers: tuple[int, int]):
    ticks = depth_picture.log_ticks(10.0 ** np.array(powers, dtype=float))
    assert 2 <= len(ticks["tickvals"]) <= 8
    assert len(ticks["tickvals"]) == len(ticks["ticktext"])


def test_theory_is_a_line_of_its_slope():
    table = pd.DataFrame({"placement": "pre", "n_layers": [1, 4, 16], "median": [2.0, 1.5, 1.0]})
    table = table.assign(least=table["median"], most=table["median"])
    picture = depth_picture.last_gradients(table, PLACES, _=same)
    assert list(picture.data[1].y) == [2.0, 1.0, 0.5]


def test_each_placement_has_its_tile_and_the_readers_own_is_outlined():
    n = len(PLACEMENTS)
    codes = [np.full((4, 4), 10 * (i + 1), dtype=np.uint8) for i in range(n)]
    facts = in_placements(codes=codes, own=PLACEMENTS[4])
    picture = placements_picture.patterns(facts, PLACES, pinned=0.5, _=same)
    z = np.asarray(picture.data[0].z)
    assert [int((z == 10 * (i + 1)).sum()) for i in range(n)] == [16] * n
    own = next(shape for shape in picture.layout.shapes if shape.type == "rect")
    assert (
        z[int(own.y0 + 0.5) : int(own.y1 + 0.5), int(own.x0 + 0.5) : int(own.x1 + 0.5)] == 50
    ).all()


def test_how_many_tokens_of_all_are_drawn_is_said():
    tokens = tuple(f"t{i}" for i in range(20))
    long = NormInput(1, tokens, 16, padding_per_sequence=0)
    texts = str(raw(axes_picture.shared_cells(long, pinned=1, _=same))["layout"]["annotations"])
    assert "16 of 20 tokens" in texts and "features 1 to 10 of 16" in texts
    texts = str(raw(axes())["layout"]["annotations"])
    assert f"of {len(TOKENS)} tokens" not in texts
