"""Links and heads with the reader's words, ready to be drawn."""

from functools import lru_cache
from typing import Any

import pandas as pd
import streamlit as st

from blocks.inspection.alignment import MEAN, Row
from blocks.run import Run
from pages.ui import labelled, link
from pages.ui.language import _, current_language
from pages.ui.seq2seq import measured
from pages.ui.seq2seq.attention_controls import SORT_LABELS
from pages.ui.seq2seq.attention_fields import SORTS
from pages.ui.seq2seq.measured import Pins

MOST_HEADS = 20
MEASURES = [name for name in SORTS if name != "layer"]
IS_ASCENDING = {"error": True, "error_reads": True, "precision": False, "recall": False}


def best(run: Run, row: Row) -> pd.Series:
    """The head that aligns best with this row; the first of those that are alike."""
    table = measured.aligned_heads(run)
    column = "error" if row is Row.WRITES else "error_reads"
    return table.loc[table[column].idxmin()]


def looked_at(run: Run, shown: str, row: str) -> tuple[int, int]:
    """Layer and head (−1: their mean) whose links are drawn."""
    if shown == "best_head":
        found = best(run, Row(row))
        return int(found["layer"]), int(found["head"])
    layer = min(link.value("layer"), run.config.n_decoder_layers - 1)
    return layer, MEAN if shown == "layer_mean" else labelled.selected_head(run)


def picture(run: Run, layer: int, head: int, row: str, pins: Pins) -> dict[str, Any]:
    """Weights, names, links and pins of the part of both texts that is drawn."""
    n_words = len(run.target_or_start.labels) - 1
    rows = measured.part(n_words, pins.target - 1, measured.MOST_ROWS)
    columns = measured.part(len(run.input.labels), pins.source, measured.MOST_COLUMNS)
    places = slice(rows.start + 1, rows.stop + 1)
    spoken = slice(Row(row).of(places.start), Row(row).of(places.stop))
    first = places.start, columns.start
    true = measured.true_links(run)
    pinned = pins.target - places.start
    return {
        "weights": measured.cross_weights(run, layer, head)[spoken, columns],
        "rows": run.target_or_start.labels[places],
        "columns": run.input.labels[columns],
        "found": _cells(measured.found_links(run, layer, head, row), places, columns),
        "true": None if true is None else _cells(true, places, columns),
        "pinned": pinned if pinned >= 0 else None,
        "first": first,
    }


def _cells(links, places: slice, columns: slice) -> list[tuple[int, int]]:
    """Links as (row, column) of the picture, as far as they are drawn."""
    return [
        (place - places.start, key - columns.start)
        for key, place in sorted(links)
        if places.start <= place < places.stop and columns.start <= key < columns.stop
    ]


def head_rows(run: Run, sort_by: str, selected: tuple[int, int]) -> dict[str, Any]:
    """The heads in this order, for `pages.figures.head_table`."""
    return _head_rows(run, sort_by, selected, current_language())


@lru_cache(maxsize=32)
def _head_rows(run: Run, sort_by: str, selected: tuple[int, int], language: str) -> dict:
    table = measured.aligned_heads(run)
    if sort_by != "layer":
        table = table.sort_values(sort_by, ascending=IS_ASCENDING[sort_by], kind="stable")
    table = table.head(MOST_HEADS)
    numbers = table[MEASURES].to_numpy(float)
    returns = [(int(row.layer), int(row.head)) for row in table.itertuples()]
    return {
        "numbers": numbers,
        "shares": numbers,
        "heads": [_short(layer, head) for layer, head in returns],
        "columns": [_(SORT_LABELS[name]) for name in MEASURES],
        "returns": returns,
        "selected": returns.index(selected) if selected in returns else None,
    }


def _short(layer: int, head: int) -> str:
    return f"{layer + 1}·" + (_("mean") if head == MEAN else str(head))


def table(run: Run) -> None:
    """Every head of cross-attention: a click on a column sorts it."""
    found = measured.aligned_heads(run)
    shown = pd.DataFrame(
        {
            _("layer"): found["layer"] + 1,
            _("head"): [_("mean") if head == MEAN else str(head) for head in found["head"]],
            _("links found"): found["n_found"],
            _("of them true"): found["n_right"],
            _("true links"): found["n_true"],
            _("error rate"): found["error"],
            _("precision"): found["precision"],
            _("recall"): found["recall"],
            _("error rate, one row later"): found["error_reads"],
        }
    )
    st.dataframe(shown.round(3), hide_index=True, key="alignment_table", height=250)
