"""A mask painted by hand: cell by cell with clicks, or rows and columns with buttons."""

from collections.abc import Callable
from typing import Any

import numpy as np
import streamlit as st

from blocks.inspection.mask_steps import Cells
from blocks.model.masks import MOST_PAINTED, MaskKind, causal, painted_text
from blocks.observe.run import Run
from pages.figures.counting import from_one
from pages.panels.masks import shared
from pages.show.ways import take
from pages.stage import link
from pages.stage.press import press
from pages.state.values import State
from pages.words.language import _


def is_paintable(run: Run) -> bool:
    return len(run.input.labels) <= MOST_PAINTED


def cell_painter(run: Run) -> Callable[[list[Any]], None]:
    """What a click on a cell of the mask does: an allowed one is forbidden, and back."""

    def paint(customdata: list[Any]) -> None:
        query, key = int(customdata[0]), int(customdata[1])
        _paint(run, query, key, open_it=not shared.open_cells(run)[query, key])

    return paint


def _paint(run: Run, query: int | slice, key: int | slice, *, open_it: bool) -> None:
    """Open or close cells: of one query, one key, or (slices) all of them."""
    cells = shared.open_cells(run).copy()
    cells[query, key] = open_it
    _keep(cells)


def _keep(cells: Cells) -> None:
    take({"painted": painted_text(cells), "mask_kind": str(MaskKind.PAINTED)})


def _start(run: Run, how: str) -> None:
    n = len(run.input.labels)
    starts = {
        "this": shared.open_cells(run),
        "causal": causal(n).numpy(),
        "open": np.ones((n, n), dtype=bool),
        "closed": np.zeros((n, n), dtype=bool),
    }
    _keep(starts[how])


def controls(run: Run, state: State) -> None:
    """The same by keyboard: choose a query and a key, and what to do there."""
    if not is_paintable(run):
        text = _("Masks of up to {n} tokens can be painted; this input has {seq_len}.")
        st.caption(text.format(n=MOST_PAINTED, seq_len=len(run.input.labels)))
        return
    query, key = _chosen(run, "paint_query", state), _chosen(run, "paint_key", state)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        _token_choice(run, "paint_query", _("Query (row)"), query)
        _token_choice(run, "paint_key", _("Key (column)"), key)
    is_open = bool(shared.open_cells(run)[query, key])
    everything = slice(None)
    with st.container(horizontal=True, gap="small"):
        label = _("Forbid this cell") if is_open else _("Allow this cell")
        _button(run, "paint_cell", label, query, key, not is_open)
    with st.container(horizontal=True, gap="small"):
        _button(run, "open_row", _("Allow row"), query, everything, True)
        _button(run, "close_row", _("Forbid row"), query, everything, False)
        _button(run, "open_column", _("Allow column"), everything, key, True)
        _button(run, "close_column", _("Forbid column"), everything, key, False)
    with st.container(horizontal=True, gap="small"):
        starts = {
            "this": _("Start from this mask"),
            "causal": _("Start from the causal mask"),
            "open": _("Allow all"),
            "closed": _("Forbid all"),
        }
        for how, label in starts.items():
            st.button(label, on_click=_start, args=(run, how), key=f"paint_from_{how}")


def _chosen(run: Run, name: str, state: State) -> int:
    return min(state[name], len(run.input.labels) - 1)


def _token_choice(run: Run, name: str, label: str, shown: int) -> None:
    labels = run.input.labels
    with st.container(key=name):
        st.selectbox(
            label,
            range(len(labels)),
            format_func=lambda i: f"{from_one(i)} · {labels[i]}",
            **link.view(name, shown, labels),
        )


def _button(
    run: Run, key: str, label: str, query: int | slice, column: int | slice, open_it: bool
) -> None:
    press(label, key, lambda: _paint(run, query, column, open_it=open_it))
