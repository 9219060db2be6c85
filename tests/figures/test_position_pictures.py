"""Pictures of positions: each number at its place, every word translated."""

import numpy as np
import pandas as pd
import pytest
from drawn import TOKENS, bytes_sent, checked, marked, same, words_that_slipped_by

from pages.figures import position_matrix
from pages.figures.position_matrix import Names
from pages.figures.theme import PINNED
from pages.panels.positions import beyond_picture, claims_picture, matrix_picture
from pages.panels.positions.beyond_picture import Curve
from pages.panels.positions.matrix_picture import Axes

NAMES = Names("given", "given", "given", "given")
AXES = Axes("given", "given", "given")


def a_table(n: int = 6, width: int = 4, _=same, columns=None, chosen=(2, 3), first=0):
    values = np.linspace(-1, 1, n * width).reshape(n, width).astype(np.float32)
    return position_matrix.table(
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
    assert (row.y0, row.y1, row.line.color) == (1.5, 2.5, PINNED)
    assert [(band.x0, band.x1) for band in bands] == [(0.5, 1.5), (2.5, 3.5)]
    assert list(picture.layout.xaxis.ticktext) == ["0", "2", "1", "3"]


def test_columns_that_count_from_1_say_so_and_return_their_place():
    columns = {"columns": (0, 1, 2, 3), "first": 1}
    picture = checked(a_table(**columns))
    assert list(picture.layout.xaxis.ticktext) == ["1", "2", "3", "4"]
    assert [list(marks[1:3]) for marks in picture.data[1].customdata[:2]] == [[0, 1], [1, 2]]


def test_a_large_table_stays_small():
    assert bytes_sent(a_table(512, 256)) < 900_000
    assert len(checked(a_table(512, 256)).data[1].x) <= position_matrix.MOST_MARKS


@pytest.mark.parametrize("n", [1, 5, 40])
def test_a_square_writes_its_numbers_where_there_is_room(n: int):
    picture = checked(position_matrix.square(np.eye(n), NAMES, pinned=0, numbers=True, _=same))
    assert (picture.data[0].texttemplate is not None) == (n <= position_matrix.NUMBERS_UP_TO)
    assert position_matrix.square(np.zeros((2, 2)), NAMES, most=0.0, _=same)


def test_a_pair_is_marked_at_the_pinned_position():
    curves = pd.DataFrame({"position": range(4), "first": [0.0, 1, 2, 3], "second": [3.0, 2, 1, 0]})
    picture = checked(matrix_picture.pair(curves, ("given 1", "given 2"), AXES, pinned=1, _=same))
    assert [list(trace.y) for trace in picture.data] == [[0, 1, 2, 3], [3, 2, 1, 0], [1, 2]]
    alone = matrix_picture.pair(curves[["position", "first"]], ("given 1",), AXES, pinned=1, _=same)
    assert list(checked(alone).data[1].y) == [1]


def test_a_mark_of_the_scale_returns_its_number():
    table = pd.DataFrame({"number": [0, 1, 2], "length": [6.3, 60.0, 600.0]})
    picture = checked(
        matrix_picture.scale(table, AXES, chosen=1, length=128, length_name="given", _=same)
    )
    assert [row[0] for row in picture.data[0].customdata] == [0, 1, 2]
    assert picture.data[0].marker.color[1] == PINNED
    assert picture.layout.annotations[0].y == pytest.approx(np.log10(128))


def test_alibi_has_a_line_for_each_head():
    picture = checked(
        matrix_picture.biases([0.5, 0.25, 0.1], AXES, n=9, chosen=1, name="given", _=same)
    )
    others, chosen = picture.data
    assert list(chosen.y) == [-0.25 * i for i in range(9)]
    assert list(others.y) == [0, -4, None, 0, -0.8, None]
    checked(matrix_picture.biases([0.5], AXES, n=2, chosen=0, name="given", _=same))


def cells(n: int = 10) -> pd.DataFrame:
    verdicts = ["true", "false", "none"]
    rows = [(verdicts[i % 3], "✓ 1", "given") for i in range(n)]
    return pd.DataFrame(rows, columns=["verdict", "text", "hover"])


def test_a_cell_of_the_claims_returns_its_kind():
    drawn = claims_picture.verdicts(
        cells(), ["given long name", "given"], [f"given {i}" for i in range(5)], shown=3, _=same
    )
    grid, marks = checked(drawn).data
    assert np.asarray(grid.z).tolist() == [[2, 1, 0, 2, 1], [0, 2, 1, 0, 2]]
    assert [row[0] for row in marks.customdata] == [0, 1, 2, 3, 4] * 2
    assert list(marks.y) == [0] * 5 + [1] * 5
    assert (drawn.layout.shapes[0].x0, drawn.layout.shapes[0].x1) == (2.5, 3.5)
    assert drawn.layout.yaxis.ticktext[0] == "given<br>long name"


MOVED = pd.DataFrame({"label": ["given 1", "given 2"], "free": [0.0, 0.4], "causal": [0.2, 0.5]})


def test_what_did_not_move_stands_at_the_foot():
    free, causal, limit = checked(claims_picture.moved(MOVED, limit=1e-4, _=same)).data
    assert list(free.y) == [claims_picture.LEAST_SHOWN, 0.4] and free.customdata[0][0] == 0
    assert list(causal.y) == [0.2, 0.5] and set(limit.y) == {1e-4}


BANDS = pd.DataFrame({"least": [0, 1], "most": [0, 3], "weight": [0.5, 0.0], "distance": [0, 2.0]})
LENGTHS = pd.DataFrame(
    {
        "kind": ["a", "a", "b"],
        "label": ["given 1", "given 1", "given 2"],
        "factor": [1, 2, 1],
        "seq_len": [8, 16, 8],
        "value": [0.5, 0.6, 0.7],
        "is_shown": [True, True, False],
    }
)
LOSS = pd.DataFrame(
    {
        "position": [4.5, 12.5],
        "first": [1, 9],
        "last": [8, 16],
        "bits": [1.0, 2.0],
        "error": [0.1, 0.2],
        "count": [80, 80],
    }
)


def test_weight_nought_has_no_logarithm_and_is_not_drawn():
    picture = checked(
        beyond_picture.by_distance([Curve("given", BANDS)], trained_len=8, title="given", _=same)
    )
    assert list(picture.data[0].x) == [1] and list(picture.data[0].y) == [0.5]
    assert picture.layout.shapes[0].x0 == 9


def test_each_kind_has_its_line_over_the_lengths():
    picture = checked(beyond_picture.by_length(LENGTHS, title="given", y="given", _=same))
    assert [list(trace.x) for trace in picture.data] == [[8, 16], [8]]
    assert list(picture.layout.xaxis.ticktext) == ["8 · 1×", "16 · 2×"]


def test_the_loss_lies_within_two_standard_errors():
    band, line = checked(beyond_picture.loss(LOSS, trained_len=8, title="given", _=same)).data
    assert list(line.y) == [1, 2]
    assert list(band.y) == pytest.approx([1.2, 2.4, 1.6, 0.8])


LIKE = pd.DataFrame({"distance": [0, 1], "mean": [1, 0.5], "least": [1, 0.4], "most": [1, 0.6]})


@pytest.mark.parametrize(
    "draw",
    [
        lambda _: a_table(_=_),
        lambda _: position_matrix.square(np.eye(3), NAMES, _=_),
        lambda _: matrix_picture.likeness(
            LIKE.assign(expected=1.0), AXES, mean_name="given", band_name="given", _=_
        ),
        lambda _: matrix_picture.biases([0.5, 0.1], AXES, n=4, chosen=0, name="given", _=_),
        lambda _: matrix_picture.spectrum(
            pd.DataFrame({"wavelength": [8.0, 4.0], "share": [0.7, 0.3]}),
            AXES,
            even_name="given",
            _=_,
        ),
        lambda _: claims_picture.verdicts(cells(1), ["given"], ["given"], shown=None, _=_),
        lambda _: claims_picture.moved(MOVED, limit=1e-4, _=_),
        lambda _: beyond_picture.by_distance(
            [Curve("given", BANDS)], trained_len=8, title="given", _=_
        ),
        lambda _: beyond_picture.by_length(LENGTHS, title="given", y="given", _=_),
        lambda _: beyond_picture.loss(LOSS, trained_len=8, title="given", _=_),
    ],
)
def test_every_word_is_translated(draw):
    assert words_that_slipped_by(checked(draw(marked))) == set()
