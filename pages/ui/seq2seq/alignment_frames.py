"""Links and heads with the reader's words, ready to be drawn."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from blocks.inspection.alignment import MEAN, Row
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.ui import labelled, link
from pages.ui.language import _
from pages.ui.seq2seq import measured
from pages.ui.seq2seq.measured import Pins

MOST_HEADS = 20
IS_BETTER_BELOW = {
    "held_out": True,
    "held_out_reads": True,
    "error": True,
    "error_reads": True,
    "precision": False,
    "recall": False,
}
COLUMNS = {
    "held_out": N_("error, validation"),
    "held_out_reads": N_("validation, row later"),
    "error": N_("error, here"),
    "error_reads": N_("here, row later"),
    "precision": N_("precision, here"),
    "recall": N_("recall, here"),
}
BEST_BY = {Row.WRITES: ("held_out", "error"), Row.READS: ("held_out_reads", "error_reads")}


def measures(run: Run, n_parts: int) -> list[str]:
    """What is known of the heads: over held-out sentences, and on this one."""
    return [name for name in COLUMNS if name in measured.aligned_heads(run, n_parts)]


def best_by(run: Run, row: Row, n_parts: int) -> str | None:
    """The measure by which a head is best: held-out sentences before this one."""
    known = measures(run, n_parts)
    return next((name for name in BEST_BY[row] if name in known), None)


def best(run: Run, row: Row, n_parts: int) -> pd.Series:
    """The head that aligns best with this row; the first of those that are alike."""
    table = measured.aligned_heads(run, n_parts)
    return table.loc[table[best_by(run, row, n_parts)].idxmin()]


def looked_at(run: Run, shown: str, row: str, n_parts: int) -> tuple[int, int]:
    """Layer and head (−1: their mean) whose links are drawn."""
    if shown == "best_head":
        found = best(run, Row(row), n_parts)
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


def sort_options(run: Run, n_parts: int) -> tuple[str, ...]:
    """The orders that can be asked for."""
    return (*measures(run, n_parts), "layer")


def head_rows(run: Run, sort_by: str, selected: tuple[int, int], n_parts: int) -> dict[str, Any]:
    """The heads in this order, for `pages.figures.head_table`; strong colours are good."""
    table, names = measured.aligned_heads(run, n_parts), measures(run, n_parts)
    if sort_by != "layer":
        table = table.sort_values(sort_by, ascending=IS_BETTER_BELOW[sort_by], kind="stable")
    table = table.head(MOST_HEADS)
    numbers = table[names].to_numpy(float)
    returns = [(int(row.layer), int(row.head)) for row in table.itertuples()]
    is_error = [IS_BETTER_BELOW[name] for name in names]
    return {
        "numbers": numbers,
        "shares": np.where(is_error, 1 - numbers, numbers),
        "heads": [_short(layer, head) for layer, head in returns],
        "columns": [_(COLUMNS[name]) for name in names],
        "returns": returns,
        "selected": returns.index(selected) if selected in returns else None,
    }


def _short(layer: int, head: int) -> str:
    return f"{layer + 1}·" + (_("mean") if head == MEAN else str(head))


def table(run: Run, n_parts: int) -> None:
    """Every head of cross-attention: a click on a column sorts it."""
    found = measured.aligned_heads(run, n_parts)
    shown = pd.DataFrame(
        {
            _("layer"): found["layer"] + 1,
            _("head"): [_("mean") if head == MEAN else str(head) for head in found["head"]],
            **{_(COLUMNS[name]): found[name] for name in measures(run, n_parts)},
        }
    )
    st.dataframe(shown.round(3), hide_index=True, key="alignment_table", height=250)
