"""Pictures of positions: each number at its place, every word translated."""

import numpy as np
import pandas as pd
import pytest
from drawn import TOKENS, bytes_sent, checked, marked, same, words_that_slipped_by

from blocks.inspection.beyond_length import HEAD_MEASURES, BeyondFacts, LossFacts
from blocks.inspection.position_claims import OUTPUT_ERROR, Claim, ClaimsFacts, ShiftFacts, Verdict
from blocks.inspection.position_facts import KindFacts, LikenessFacts, PairFacts, TableFacts
from blocks.model.kinds import PositionKind
from pages.figures import palette
from pages.panels.positions import (
    beyond_picture,
    claims_picture,
    matrix_picture,
    position_matrix_picture,
)
from pages.panels.positions.position_matrix_picture import Names

NAMES = Names("given", "given", "given", "given")
KINDS = {kind: f"given {i}" for i, kind in enumerate(PositionKind)}
ALIBI, LEARNED, ROPE = PositionKind.ALIBI, PositionKind.LEARNED, PositionKind.ROPE
ADDED = PositionKind.SINUSOIDAL


def a_table(n: int = 6, width: int = 4, _=same, columns=None, chosen=(2, 3), first=0):
    values = np.linspace(-1, 1, n * width).reshape(n, width).astype(np.float32)
    return position_matrix_picture.table(
        values,
        columns or range(width),
        NAMES,
        most=1.0,
        pinned=2,
        chosen=chosen,
        first=first,
        tokens=TOKENS,
        _=_,
    )


def test_a_table_shows_each_value_once_and_returns_its_place():
    picture = checked(a_table())
    codes, marks = picture.data
    assert codes.z.dtype == np.uint8 and codes.z[0, 0] == 0 and codes.z[-1, -1] == codes.zmax
    found = {(row, column): value for row, column, _shown, value in marks.customdata}
    assert len(found) == 24 and found[5, 3] == 1 and found[0, 0] == -1
    assert marks.hovertext[0].endswith("given") and marks.hovertext[-1] == "given 5"
    assert "&lt;b&gt;" in marks.hovertext[4]


def test_the_pinned_row_and_the_chosen_columns_are_outlined():
    picture = a_table(columns=(0, 2, 1, 3))  # sines first
    row, *bands = picture.layout.shapes
    assert (row.y0, row.y1, row.line.color) == (1.5, 2.5, palette.PINNED)
    assert [(band.x0, band.x1) for band in bands] == [(0.5, 1.5), (2.5, 3.5)]
    assert list(picture.layout.xaxis.ticktext) == ["0", "2", "1", "3"]


def test_columns_that_count_from_1_say_so_and_return_their_place():
    columns = {"columns": (0, 1, 2, 3), "first": 1}
    picture = checked(a_table(**columns))
    assert list(picture.layout.xaxis.ticktext) == ["1", "2", "3", "4"]
    assert [list(marks[1:3]) for marks in picture.data[1].customdata[:2]] == [[0, 1], [1, 2]]


def test_a_large_table_stays_small():
    assert bytes_sent(a_table(512, 256)) < 900_000
    assert len(checked(a_table(512, 256)).data[1].x) <= position_matrix_picture.MOST_MARKS


@pytest.mark.parametrize("n", [1, 5, 40])
def test_a_square_writes_its_numbers_where_there_is_room(n: int):
    picture = checked(
        position_matrix_picture.square(np.eye(n), NAMES, pinned=0, numbers=True, _=same)
    )
    assert (picture.data[0].texttemplate is not None) == (
        n <= position_matrix_picture.NUMBERS_UP_TO
    )
    assert position_matrix_picture.square(np.zeros((2, 2)), NAMES, most=0.0, _=same)


def pair(kind: PositionKind = ADDED, **curves: list[float]) -> PairFacts:
    table = pd.DataFrame({"position": range(4), "first": [0.0, 1, 2, 3], **curves})
    return PairFacts(kind, 1, 1, table, length=6.3, slope=0.5)


def test_a_pair_is_marked_at_the_pinned_position():
    picture = checked(matrix_picture.pair(pair(second=[3.0, 2, 1, 0]), _=same))
    assert [list(trace.y) for trace in picture.data] == [[0, 1, 2, 3], [3, 2, 1, 0], [1, 2]]
    alone = checked(matrix_picture.pair(pair(ALIBI), _=same))
    assert list(alone.data[1].y) == [1] and alone.data[0].name == "head 2"


def kind_facts(kind: PositionKind = ADDED, n: int = 128) -> KindFacts:
    lengths = pd.DataFrame({"number": [0, 1, 2], "length": [6.3, 60.0, 600.0]})
    waves = pd.DataFrame({"wavelength": [8.0, 4.0], "share": [0.7, 0.3]})
    return KindFacts(None, kind, n, 0, False, lengths, waves, rms=1.0)


@pytest.mark.parametrize(("kind", "first"), [(ADDED, 0), (ALIBI, 1)])
def test_a_mark_of_the_scale_returns_its_number(kind: PositionKind, first: int):
    picture = checked(matrix_picture.scale(kind_facts(kind), 1, _=same))
    assert [row[0] for row in picture.data[0].customdata] == [0, 1, 2]
    assert picture.data[0].x[0] == first and picture.data[0].marker.color[1] == palette.PINNED
    assert picture.layout.annotations[0].y == pytest.approx(np.log10(128))


def likeness(kind: PositionKind = ADDED, n: int = 9, slopes=(), **more) -> LikenessFacts:
    table = {"distance": [0, 1], "mean": [1, 0.5], "least": [1, 0.4], "most": [1, 0.6], **more}
    return LikenessFacts(kind, n, 0, pd.DataFrame(table), slopes)


def test_alibi_has_a_line_for_each_head():
    facts = likeness(ALIBI, slopes=(0.5, 0.25, 0.1))
    others, chosen = checked(matrix_picture.biases(facts, 1, _=same)).data
    assert list(chosen.y) == [-0.25 * i for i in range(9)]
    assert list(others.y) == [0, -4, None, 0, -0.8, None]
    checked(matrix_picture.biases(likeness(ALIBI, 2, (0.5,)), 0, _=same))


def claims() -> ClaimsFacts:
    """Of four kinds true, false, and nothing at all; one is still to be measured."""
    verdicts = {
        PositionKind.NONE: tuple(Verdict(claim, 0.0, 1.0) for claim in Claim),
        ADDED: tuple(Verdict(claim, 2.0, 1.0, extra=3.0) for claim in Claim),
        LEARNED: tuple(Verdict(claim, None, 1.0) for claim in Claim),
        ROPE: (),
    }
    return ClaimsFacts(8, 2, "given", verdicts)


def test_a_cell_of_the_claims_returns_its_kind():
    drawn = claims_picture.verdicts(claims(), KINDS, shown=ROPE, _=same)
    grid, marks = checked(drawn).data
    assert np.asarray(grid.z).tolist() == [[2, 1, 0, 0, 0]] * len(Claim)
    assert list(grid.text[0]) == ["✓ 0", "✗ 2", "–", "–", "…"]
    assert [row[0] for row in marks.customdata] == [0, 1, 2, 3, 4] * len(Claim)
    assert (drawn.layout.shapes[0].x0, drawn.layout.shapes[0].x1) == (2.5, 3.5)
    assert drawn.layout.yaxis.ticktext[0] == "No two positions<br>are alike"


MOVED = pd.DataFrame({"kind": [ADDED, ROPE], "free": [0.0, 0.4], "causal": [0.2, 0.5]})


def test_what_did_not_move_stands_at_the_foot():
    free, causal, limit = checked(claims_picture.permuted(MOVED, KINDS, _=same)).data
    assert list(free.y) == [claims_picture.LEAST_SHOWN, 0.4] and free.customdata[0][0] == 0
    assert list(causal.y) == [0.2, 0.5] and set(limit.y) == {OUTPUT_ERROR}


BANDS = pd.DataFrame({"least": [0, 1], "most": [0, 3], "weight": [0.5, 0.0], "distance": [0, 2.0]})
SPREADS = pd.DataFrame(
    {"kind": [ADDED, ADDED, ROPE], "factor": [1, 2, 1], "seq_len": [8, 16, 8]}
).assign(**{name: [0.5, 0.6, 0.7] for name in HEAD_MEASURES})
BEYOND = BeyondFacts(ADDED, 0, 8, False, SPREADS, bands=((1, 8, BANDS),), refused=(), n_kinds=5)
LOSS_BANDS = pd.DataFrame(
    {
        "position": [4.5, 12.5],
        "first": [1, 9],
        "last": [8, 16],
        "bits": [1.0, 2.0],
        "error": [0.1, 0.2],
        "count": [80, 80],
    }
)
LOSS = LossFacts(ROPE, 0, 8, 16, 48, LOSS_BANDS, 1.0, 2.0)


def test_weight_nought_has_no_logarithm_and_is_not_drawn():
    picture = checked(beyond_picture.by_distance(BEYOND, "given", _=same))
    assert list(picture.data[0].x) == [1] and list(picture.data[0].y) == [0.5]
    assert picture.layout.shapes[0].x0 == 9


def test_each_kind_has_its_line_over_the_lengths():
    picture = checked(beyond_picture.by_length(BEYOND, KINDS, _=same))
    assert [list(trace.x) for trace in picture.data] == [[8, 16], [8]]
    assert list(picture.layout.xaxis.ticktext) == ["8 · 1×", "16 · 2×"]


def test_the_loss_lies_within_two_standard_errors():
    band, line = checked(beyond_picture.loss(LOSS, "given", _=same)).data
    assert list(line.y) == [1, 2]
    assert list(band.y) == pytest.approx([1.2, 2.4, 1.6, 0.8])


def table_facts(kind: PositionKind) -> TableFacts:
    return TableFacts(kind, np.eye(4), (0, 1, 2, 3), 4, 1, (0,), 1.0, TOKENS)


@pytest.mark.parametrize(
    "draw",
    [
        lambda _: position_matrix_picture.square(np.eye(3), NAMES, _=_),
        lambda _: matrix_picture.similarity(np.eye(3), 1, _=_),
        *(lambda _, kind=kind: matrix_picture.pair(pair(kind), _=_) for kind in (ADDED, LEARNED)),
        *(
            lambda _, kind=kind: matrix_picture.table(table_facts(kind), "given", _=_)
            for kind in (ADDED, LEARNED, ROPE, ALIBI)
        ),
        *(
            lambda _, kind=kind: matrix_picture.scale(kind_facts(kind), 0, _=_)
            for kind in (ROPE, ALIBI)
        ),
        lambda _: matrix_picture.likeness(likeness(), _=_),
        lambda _: matrix_picture.likeness(likeness(ROPE, expected=1.0), _=_),
        lambda _: matrix_picture.biases(likeness(ALIBI, 4, (0.5, 0.1)), 0, _=_),
        lambda _: matrix_picture.spectrum(kind_facts(LEARNED), _=_),
        lambda _: claims_picture.verdicts(claims(), KINDS, shown=ROPE, _=_),
        lambda _: claims_picture.permuted(MOVED, KINDS, _=_),
        lambda _: claims_picture.matrix(ShiftFacts(4, np.eye(2), 2, False), _=_),
        lambda _: beyond_picture.by_distance(BEYOND, "given", _=_),
        lambda _: beyond_picture.by_length(BEYOND, KINDS, _=_),
        lambda _: beyond_picture.loss(LOSS, "given", _=_),
    ],
)
def test_every_word_is_translated(draw):
    assert words_that_slipped_by(checked(draw(marked))) == set()
