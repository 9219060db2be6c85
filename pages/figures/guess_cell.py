"""A map in which a cell is marked: the guess, and what was measured."""

from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np

from blocks.lessons.answers import Answer, Values
from pages.figures import marks, palette
from pages.figures.counting import from_one
from pages.figures.described import SAID
from pages.figures.marks import line, targets
from pages.figures.theme import (
    TITLE,
    TITLE_AND_LEGEND,
    Picture,
    Translate,
    faint,
    figure,
    legend,
    token_label,
)
from pages.figures.token_axis import label_room, token_ticks

GUESS, TRUTH = palette.PINNED, palette.ATTENTION
CELL, MOST_TICKS = 24, 32
AROUND = 30  # pixels of a mark around a number


class Table(NamedTuple):
    """What rows and columns are called."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]

    def of_size(self, n_rows: int, n_columns: int) -> Self:
        """The same where it is as large, else with numbers for names."""
        if (len(self.rows), len(self.columns)) == (n_rows, n_columns):
            return self
        rows, columns = (tuple(str(from_one(i)) for i in range(n)) for n in (n_rows, n_columns))
        return self._replace(rows=rows, columns=columns)


def cell_so_far(table: Table, guess: Values | None, *, _: Translate) -> Picture:
    """Where a cell is to be marked; a click on one gives [row, column]."""
    marks = [_mark(guess, _("guessed"), GUESS, "circle", _)] if guess else []
    return _map(table, [_empty(table), *marks, _clicks(table)], _("Your guess: choose a cell"), _)


def marked(table: Table, answer: Answer, *, _: Translate) -> Picture:
    """The guess and the truth in one map, with the way between them."""
    guess, truth = answer.guess, answer.truth[:2]
    traces = [_empty(table), _mark(truth, _("measured"), TRUTH, "diamond", _)]
    shapes = []
    if answer.was_guessed:
        traces.insert(1, _mark(guess, _("guessed"), GUESS, "circle", _))
        shapes = [_gap(guess, truth)]
    return _map(table, traces, _("Guess and measurement"), _, shapes=shapes, **legend())


def counted(
    table: Table, guesses: Mapping[tuple[int, int], int], truth: Values, title: str, *, _: Translate
) -> Picture:
    """How many of a class have marked each cell."""
    z = np.zeros((len(table.rows), len(table.columns)), dtype=np.int64)
    for cell, n in guesses.items():
        z[cell] = n
    heat = {
        **_empty(table),
        "z": z,
        "zmax": max(1, int(z.max())),
        "colorscale": [(0.0, palette.MASKED), (1.0, faint(GUESS, 0.9))],
        "text": [[str(n) if n else "" for n in row] for row in z.tolist()],
        "texttemplate": "%{text}",
        "name": _("learners"),
        "meta": {SAID: [_place(cell, str(n), _) for cell, n in guesses.items()]},
    }
    marks = [_mark(truth, _("measured"), TRUTH, "diamond-open", _, AROUND)] if truth else []
    return _map(table, [heat, *marks], title, _, **legend())


def _empty(table: Table) -> dict[str, Any]:
    """Its cells, with nothing in them."""
    return marks.heat(
        np.zeros((len(table.rows), len(table.columns)), dtype=np.uint8),
        zmin=0,
        zmax=1,
        colorscale=[(0.0, palette.MASKED), (1.0, palette.MASKED)],
        showscale=False,
        xgap=1,
        ygap=1,
        meta={SAID: []},
    )


def _clicks(table: Table) -> dict[str, Any]:
    cells = [*product(range(len(table.rows)), range(len(table.columns)))]
    hovers = [f"{token_label(table.rows[i])} → {token_label(table.columns[j])}" for i, j in cells]
    look = {"hovertext": hovers, "hoverinfo": "text", "showlegend": False}
    return targets([j for _i, j in cells], [i for i, _j in cells], cells, CELL, **look)


def _mark(
    cell: Values, name: str, color: str, symbol: str, _: Translate, size: int = 14
) -> dict[str, Any]:
    row, column = map(int, cell)
    marker = {"color": color, "size": size, "symbol": symbol, "line": {"width": 3, "color": color}}
    said = {SAID: [_place((row, column), name, _)]}
    look = {"mode": "markers", "marker": marker, "hoverinfo": "skip", "meta": said}
    return line([column], [row], name=name, **look)


def _place(cell: tuple[int, int], what: str, _: Translate) -> str:
    row, column = map(from_one, cell)
    return _("{what}: row {row}, column {column}").format(what=what, row=row, column=column)


def _gap(guess: Values, truth: Values) -> dict[str, Any]:
    (y0, x0), (y1, x1) = guess, truth
    dotted = {"color": palette.BEFORE, "width": 3, "dash": "dot"}
    return {"type": "line", "x0": x0, "x1": x1, "y0": y0, "y1": y1, "line": dotted}


def _map(
    table: Table, traces: list[dict[str, Any]], title: str, _: Translate, **more: Any
) -> Picture:
    """Rows are queries, the first above; columns are keys."""
    n_rows, n_columns, below = len(table.rows), len(table.columns), label_room(table.columns)
    return figure(
        traces,
        title=title,
        margin=(TITLE_AND_LEGEND if more.get("showlegend") else TITLE, below),
        height=120 + below + CELL * n_rows,
        xaxis={
            **token_ticks(table.columns, MOST_TICKS),
            "title": _("key"),
            "tickangle": -55,
            "range": [-0.5, n_columns - 0.5],
        },
        yaxis={
            **token_ticks(table.rows, MOST_TICKS),
            "title": _("query"),
            "range": [n_rows - 0.5, -0.5],
        },
        **more,
    )
