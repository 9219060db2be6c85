"""Which word stands for which: the links of a head in its map, and all heads as a table."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from blocks.inspection.aligned_heads import IS_BETTER_BELOW, HeadsShown, LinksFacts
from blocks.inspection.alignment import MEAN, Link
from blocks.model.faults import N_
from pages.figures import head_table, palette
from pages.figures.counting import from_one, head_called
from pages.figures.table_rows import each_row
from pages.figures.theme import Picture, Translate
from pages.figures.token_matrix import Names, cell_marks, token_matrix
from pages.panels.seq2seq.two_texts_picture import cells, colors

TRUE, MOST_HEADS = palette.NORM, 20
COLUMNS = {
    "held_out": N_("error rate (validation)"),
    "held_out_reads": N_("error rate (validation, next query)"),
    "error": N_("error rate (this sentence)"),
    "error_reads": N_("error rate (this sentence, next query)"),
    "precision": N_("precision (sentence)"),
    "recall": N_("recall (sentence)"),
}


def aligned_name(layer: int, head: int, _: Translate) -> str:
    """A head, or the mean of a layer."""
    if head == MEAN:
        return _("layer {layer} (mean of heads)").format(layer=from_one(layer))
    return head_called(layer, head, _)


def head_or_mean(head: int, _: Translate) -> str:
    return _("mean") if head == MEAN else str(from_one(head))


def links(facts: LinksFacts, *, _: Translate) -> Picture:
    """Target words down, source tokens across: a dot on what is found, a frame on what is true.

    A click returns the numbers of the target word and of the source token.
    """
    rows, columns = facts.part
    first = rows.start, columns.start
    speaking = slice(facts.row.of(rows.start), facts.row.of(rows.stop))
    weights = facts.weights[speaking, columns]
    names = Names(
        f"{_capital(aligned_name(facts.layer, facts.head, _))} · {_legend(facts, _)}",
        _("target word"),
        _("source token"),
        facts.target[rows],
        facts.source[columns],
    )
    pinned = facts.pins.target - rows.start
    return token_matrix(
        colors(weights, _),
        [*cells(weights, first, _), _dots(weights, _drawn(facts.found, rows, columns), _)],
        names,
        pinned=pinned if pinned >= 0 else None,
        shapes=[_frame(*each) for each in _drawn(facts.true or (), rows, columns)],
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _legend(facts: LinksFacts, _: Translate) -> str:
    """What stands in the title: a frame is a true link, a dot one that was found."""
    true = f"<span style='color:{TRUE}'>▢</span> " + _("true link")
    found = "● " + _("predicted link")
    return found if facts.true is None else f"{true} · {found}"


def _drawn(found: Iterable[Link], rows: slice, columns: slice) -> list[tuple[int, int]]:
    """Links as (row, column) of the picture, as far as they are drawn."""
    return [
        (place - rows.start, key - columns.start)
        for key, place in sorted(found)
        if rows.start <= place < rows.stop and columns.start <= key < columns.stop
    ]


def _dots(weights: np.ndarray, found: list[tuple[int, int]], _: Translate) -> dict[str, Any]:
    where = np.zeros(weights.shape, dtype=bool)
    for place in found:
        where[place] = True
    size = max(4, min(9, 200 // max(weights.shape)))
    said = _("predicted link: the largest weight of its row")
    dots = cell_marks(where, weights, said, symbol="circle", color="#ffffff", opacity=1, size=size)
    line = {"width": 1.5, "color": palette.RESIDUAL}
    return {**dots, "marker": {**dots["marker"], "line": line}, "hoverinfo": "skip"}


def _frame(row: int, column: int) -> dict[str, Any]:
    place = {"x0": column - 0.44, "x1": column + 0.44, "y0": row - 0.44, "y1": row + 0.44}
    return {"type": "rect", **place, "line": {"color": TRUE, "width": 2.5}}


def all_heads(shown: HeadsShown, *, _: Translate) -> Picture:
    """The first heads in this order, a row each; strong colours are good."""
    measures = list(shown.heads.measures)
    table = shown.heads.sorted_by(shown.sort_by).head(MOST_HEADS)
    numbers = table[measures].to_numpy(float)
    returns = [(int(row.layer), int(row.head)) for row in each_row(table)]
    is_error = [IS_BETTER_BELOW[name] for name in measures]
    return head_table.measures(
        numbers,
        np.where(is_error, 1 - numbers, numbers),
        heads=[f"{from_one(layer)}·{head_or_mean(head, _)}" for layer, head in returns],
        columns=[_(COLUMNS[name]) for name in measures],
        returns=returns,
        selected=returns.index(shown.selected) if shown.selected in returns else None,
        is_narrow=True,
        _=_,
    )
