"""Pictures of norms, placements and depth: the numbers given are the numbers drawn."""

import numpy as np
import pandas as pd
import pytest
from drawn import TOKENS, checked, codes_of, marked, pattern, raw, same, words_that_slipped_by

from blocks.inspection.norm_compared import NormInput
from blocks.inspection.placements import Placed, PlacementFacts
from blocks.model.placements import PLACEMENTS
from pages.figures import palette
from pages.panels.normalization import axes_picture, placements_picture
from pages.panels.normalization.axes_picture import COLORS, OTHER, SHARED

PLACES = {name: f"given{i}" for i, name in enumerate((*PLACEMENTS, "trained", "random"))}


def axes(batch: int = 2, pinned: int = 1, _=same):
    shape = NormInput(batch, TOKENS, 16, padding_per_sequence=0)
    return axes_picture.shared_cells(shape, pinned=pinned, _=_)


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
    yield axes(_=_)
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
