"""Pictures of positions: each number at its place, every word translated."""

import numpy as np
import pytest
from drawn import TOKENS, bytes_sent, checked, marked, same, words_that_slipped_by

from blocks.inspection.position_claims import Claim, ClaimsFacts, ShiftFacts, Verdict
from blocks.model.kinds import PositionKind
from pages.figures import palette
from pages.panels.positions import claims_picture, position_matrix_picture
from pages.panels.positions.position_matrix_picture import Names

NAMES = Names("given", "given", "given", "given")
KINDS = {kind: f"given {i}" for i, kind in enumerate(PositionKind)}
LEARNED, ROPE = PositionKind.LEARNED, PositionKind.ROPE
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


@pytest.mark.parametrize(
    "draw",
    [
        lambda _: position_matrix_picture.square(np.eye(3), NAMES, _=_),
        lambda _: claims_picture.verdicts(claims(), KINDS, shown=ROPE, _=_),
        lambda _: claims_picture.matrix(ShiftFacts(4, np.eye(2), 2, False), _=_),
    ],
)
def test_every_word_is_translated(draw):
    assert words_that_slipped_by(checked(draw(marked))) == set()
