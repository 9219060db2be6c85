"""Frames with the reader's words, and the sortable table of all heads."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from blocks.observe.run import Run
from pages.ui import link, terms
from pages.ui.attention import measured
from pages.ui.attention.controls import SORT_LABELS
from pages.ui.attention.fields import SORTS
from pages.ui.attention.words import head_called
from pages.ui.language import _, current_language

MOST_KEYS, MOST_HEADS = 32, 32


def contribution_rows(run: Run, layer: int, head: int | None, query: int) -> pd.DataFrame:
    """A row a key, in the order of the text, and what is no key of this head."""
    return _contribution_rows(run, layer, head, query, current_language())


@lru_cache(maxsize=64)
def _contribution_rows(
    run: Run, layer: int, head: int | None, query: int, language: str
) -> pd.DataFrame:
    found = measured.contribution(run, layer, head, query)
    keys = found.keys.assign(
        label=run.input.labels,
        kind="key",
        number=range(len(found.keys)),
        is_pinned=[i == query for i in range(len(found.keys))],
    )
    keys = keys[keys["is_seen"]]
    largest = keys[["weight", "share"]].abs().max(axis=1).nlargest(MOST_KEYS).index
    keys = keys.loc[sorted(largest)]
    none = {"weight": None, "norm": None, "value_norm": None, "number": -1, "is_pinned": False}
    rest = [{**none, "label": _("other heads"), "kind": "rest", "share": found.rest}]
    bias = {"label": _("output bias"), "kind": "bias", "share": found.bias}
    rest = rest if head is not None else []
    rest.append({**none, **bias, "norm": found.bias_norm})
    return pd.DataFrame([*keys.to_dict("records"), *rest])


def contribution_note(run: Run, layer: int, head: int | None, query: int) -> str:
    """Which keys are drawn, and what is counted."""
    found = measured.contribution(run, layer, head, query)
    n_seen, notes = int(found.keys["is_seen"].sum()), []
    if n_seen > MOST_KEYS:
        text = _("Shown: the {n} keys with the largest weight or share, of {all} visible ones.")
        notes.append(text.format(n=MOST_KEYS, all=n_seen))
    notes.append(
        _(
            "Share: the component along the direction of the layer's output at this "
            "token, before dropout; all rows sum to 100%. Below 0 a key works against "
            "the rest."
        )
    )
    return " ".join(notes)


def sink_points(run: Run) -> pd.DataFrame:
    """A row a head of all layers, with the words under the cursor."""
    return _sink_points(run, current_language())


@lru_cache(maxsize=16)
def _sink_points(run: Run, language: str) -> pd.DataFrame:
    table = measured.sinks(run)
    text = _("{head}: weight {weight:.2f}, value {ratio:.2f}")
    hovers = [
        text.format(
            head=head_called(int(row.layer), int(row.head)),
            weight=row.weight,
            ratio=row.value_ratio,
        )
        for row in table.itertuples()
    ]
    return table.assign(hover=hovers)


def all_heads(run: Run) -> None:
    """Every head of every layer: a click on a column sorts it."""
    table = measured.all_heads(run)
    first = measured.sinks(run)
    shown = pd.DataFrame(
        {
            _("layer"): table["layer"] + 1,
            _("head"): table["head"],
            _("entropy (bits)"): table["entropy_bits"],
            _("distance (tokens)"): table["distance_tokens"],
            _("previous token"): table["previous_token"],
            _("itself"): table["same_token"],
            _("first token"): table["first_token"],
            _("token after an earlier copy (induction)"): table["induction"],
            _("value of the first token"): first["value_ratio"],
            _("attention sink"): first["is_sink"],
            _("name"): [_named(row) for row in table.itertuples()],
        }
    )
    st.dataframe(shown.round(3), hide_index=True, key="all_heads_table", height=318)


def _named(row) -> str:
    """The name with its share, above the threshold only."""
    return f"{terms.head_name(row.name)} {getattr(row, row.name):.2f}" if row.name else ""


class HeadRows(NamedTuple):
    """Heads in the chosen order: their numbers, the same as colours, and what they are called."""

    numbers: NDArray[np.float64]
    shares: NDArray[np.float64]
    heads: list[str]
    columns: list[str]
    returns: list[tuple[int, int]]


def head_rows(run: Run, sort_by: str) -> HeadRows:
    """All heads, or the first so many in this order; those with the most of a measure first."""
    return _head_rows(run, sort_by, current_language())


@lru_cache(maxsize=32)
def _head_rows(run: Run, sort_by: str, language: str) -> HeadRows:
    table = measured.all_heads(run)
    if sort_by != "layer":
        is_ascending = sort_by == "entropy_bits"  # the sharpest first
        table = table.sort_values(sort_by, ascending=is_ascending, kind="stable")
    table = table.head(MOST_HEADS)
    measures = [name for name in SORTS if name != "layer"]
    numbers = table[measures].to_numpy(float)
    most = [
        max(1e-9, measured.all_heads(run)[name].max())
        if name in ("entropy_bits", "distance_tokens")
        else 1
        for name in measures
    ]
    labels = [f"{row.layer + 1}·{row.head}  {_named(row)}".strip() for row in table.itertuples()]
    returns = [(int(row.layer), int(row.head)) for row in table.itertuples()]
    columns = [_(SORT_LABELS[name]) for name in measures]
    return HeadRows(numbers, (numbers / most).clip(0, 1), labels, columns, returns)


def head_rows_note(run: Run) -> str:
    """How to read the heat table."""
    note = _(
        "Shares are drawn from 0 to 1, entropy and distance relative to the largest of "
        "all heads. Only heads above 0.5 are named."
    )
    n_heads = len(measured.all_heads(run))
    if n_heads <= MOST_HEADS:
        return note
    text = _("Shown: the first {n} of {all} heads in this order; the table has all.")
    return f"{note} {text.format(n=MOST_HEADS, all=n_heads)}"


def sort_by() -> str:
    """The chosen order."""
    return link.value("sort_heads_by")
