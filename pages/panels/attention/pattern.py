"""Who reads whom: one head as lines and as a map, and all heads of all layers."""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from blocks.inspection import source
from blocks.model.faults import N_
from blocks.observe import heads as head_measures
from blocks.observe.run import Run
from pages.figures import bipartite, head_table, heads
from pages.figures.counting import from_one
from pages.figures.table_rows import Row, each_row
from pages.figures.theme import Picture
from pages.panels.attention import shared
from pages.panels.attention.shared import head_called
from pages.panels.encoder import shared as encoder_shared
from pages.panels.heads import one_head
from pages.ui import labelled, layers, link, terms, words
from pages.ui.chart import columns, show
from pages.ui.controls import slider
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, current_language, enumeration
from pages.ui.link_fields.attention import SORTS
from pages.ui.said import say
from pages.ui.views import pin_token


def edges_sentence(run: Run, layer: int, head: int, query: int) -> str:
    """Which token is read most, over all queries."""
    pattern = np.nan_to_num(shared.head_steps_of(run, layer, head).pattern)
    received = pattern.sum(axis=0)
    most = int(received.argmax())
    text = _(
        "In {head} most attention goes to {token}: all tokens together give it "
        "{total:.1f}, of {all:.0f} in total. Orange lines leave the pinned token "
        "{pinned}."
    )
    return text.format(
        head=shared.head_called(layer, head),
        token=shared.token(run, most),
        total=received[most],
        all=pattern.sum(),
        pinned=shared.token(run, query),
    )


def edges_note(run: Run, layer: int, head: int, query: int, n_edges: int, least: float) -> str:
    """Which lines are drawn."""
    text = _(
        "Shown: the {n} largest weights of each token, from {least:.0%} up; all those "
        "of the pinned token."
    )
    shown = shared.window(run, query, shared.MOST_LINES)
    note = shared.drawn_note(run, layer, head, query, shown)
    return " ".join(filter(None, (text.format(n=n_edges, least=least), note)))


def edges_alt(run: Run, layer: int, head: int, query: int, _n_edges: int) -> str:
    """Write the alt text of the lines."""
    text = _("Tokens left and right, a line from each token to those it attends to. {sentence}")
    return text.format(sentence=edges_sentence(run, layer, head, query))


def table_sentence(run: Run) -> str:
    """The sharpest and the widest head, and those with a name."""
    table = shared.all_heads(run)
    sharp, wide = (
        table.iloc[pick]
        for pick in (table["entropy_bits"].argmin(), table["entropy_bits"].argmax())
    )
    text = _(
        "Of {n} heads {sharp} is the sharpest ({sharp_bits:.2f} bits) and {wide} the "
        "most spread out ({wide_bits:.2f} bits). {named}"
    )
    return text.format(
        n=len(table),
        sharp=shared.head_called(int(sharp["layer"]), int(sharp["head"])),
        sharp_bits=sharp["entropy_bits"],
        wide=shared.head_called(int(wide["layer"]), int(wide["head"])),
        wide_bits=wide["entropy_bits"],
        named=_named(run),
    )


def _named(run: Run) -> str:
    table = shared.all_heads(run)
    counts = table.loc[table["name"] != "", "name"].value_counts()
    if counts.empty:
        return _(
            "No head puts more than half of its weight on one kind of position, so none is named."
        )
    listed = enumeration(
        f"{terms.head_name(name)} {n}" for name, n in zip(counts.index, counts, strict=True)
    )
    return _("Named, with more than half of the weight: {listed}.").format(listed=listed)


def table_alt(run: Run, *_sorted: object) -> str:
    """Write the alt text of the heat table."""
    return _("One row per head, one column per measure. {sentence}").format(
        sentence=table_sentence(run)
    )


def all_heads_table(run: Run) -> None:
    """Every head of every layer: a click on a column sorts it."""
    table = shared.all_heads(run)
    first = shared.sinks(run)
    shown = pd.DataFrame(
        {
            _("layer"): table["layer"].map(from_one),
            _("head"): table["head"].map(from_one),
            _("entropy (bits)"): table["entropy_bits"],
            _("distance (tokens)"): table["distance_tokens"],
            _("previous token"): table["previous_token"],
            _("itself"): table["same_token"],
            _("first token"): table["first_token"],
            _("token after an earlier copy (induction)"): table["induction"],
            _("value of the first token"): first["value_ratio"],
            _("attention sink"): first["is_sink"],
            _("name"): [_named_table(row) for row in each_row(table)],
        }
    )
    st.dataframe(shown.round(3), hide_index=True, key="all_heads_table", height=318)


def _named_table(row: Row) -> str:
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
    table = shared.all_heads(run)
    if sort_by != "layer":
        is_ascending = sort_by == "entropy_bits"  # the sharpest first
        table = table.sort_values(sort_by, ascending=is_ascending, kind="stable")
    table = table.head(shared.MOST_HEADS)
    measures = [name for name in SORTS if name != "layer"]
    numbers = table[measures].to_numpy(float)
    most = [
        max(1e-9, shared.all_heads(run)[name].max())
        if name in ("entropy_bits", "distance_tokens")
        else 1
        for name in measures
    ]
    labels = [
        f"{from_one(row.layer)}·{from_one(row.head)}  {_named_table(row)}".strip()
        for row in each_row(table)
    ]
    returns = [(int(row.layer), int(row.head)) for row in each_row(table)]
    columns = [_(SORT_LABELS[name]) for name in measures]
    return HeadRows(numbers, (numbers / most).clip(0, 1), labels, columns, returns)


def head_rows_note(run: Run) -> str:
    """How to read the heat table."""
    note = _(
        "Shares are drawn from 0 to 1, entropy and distance relative to the largest of "
        "all heads. Only heads above 0.5 are named."
    )
    n_heads = len(shared.all_heads(run))
    if n_heads <= shared.MOST_HEADS:
        return note
    text = _("Shown: the first {n} of {all} heads in this order; the table has all.")
    return f"{note} {text.format(n=shared.MOST_HEADS, all=n_heads)}"


SORT_LABELS = {
    "layer": N_("layer"),
    "entropy_bits": N_("entropy (bits)"),
    "distance_tokens": N_("distance (tokens)"),
    "first_token": N_("first token"),
    "same_token": N_("itself"),
    "previous_token": N_("previous token"),
    "induction": N_("token after an earlier copy (induction)"),
}


def edges_choice(run: Run) -> int:
    """How many lines leave each token."""
    most = min(16, len(run.input.labels))
    n_edges = min(link.value("edges"), most)
    if most > 1:
        slider("edges", _("Lines from each token"), n_edges, most=most)
    return n_edges


def sort_choice() -> None:
    """The measure by which the heads are ordered."""
    with st.container(key="sort_heads_by"):
        st.selectbox(
            _("Sort heads by"),
            SORTS,
            format_func=lambda name: _(SORT_LABELS[name]),
            **link.view("sort_heads_by", link.value("sort_heads_by"), current_language()),
        )


def open_tile(customdata: list[Any]) -> None:
    """A tile of the overview was clicked: heads are counted through all layers."""
    shared._go_to(*divmod(int(customdata[0]), link.config().n_heads))
    link.redraw_everything()


@section
def lines_and_map(run: Run, layer: int, head: int, token: int) -> None:
    """One head, twice."""
    with explained(("attention", "masks"), source.heads_source(), key="who_reads_whom"):
        say(edges_sentence, run, layer, head, token)
    left, right = columns(2)
    with left:
        n_edges = edges_choice(run)
        shown = run, layer, head, token, n_edges
        show(draw_lines, *shown, key="bipartite", alt=edges_alt, on_click=pin_token)
        note(edges_note(run, layer, head, token, n_edges, bipartite.LEAST))
    with right:
        one_head(run, layer, head, token)


@section
def all_heads(run: Run, layer: int, head: int, token: int) -> None:
    """All heads of all layers: one picture, one table, one order."""
    code = (head_measures.frame,)
    with explained(("heads", "head_names", "induction"), code, key="all_heads"):
        say(table_sentence, run)
    left, right = columns(2)
    with left:
        show(
            draw_tiles,
            run,
            layer,
            head,
            token,
            key="all_head_tiles",
            alt=encoder_shared.all_heads_alt,
            on_click=open_tile,
        )
        note(words.overview_note(run))
    with right:
        sort_choice()
        show(
            draw_table,
            run,
            layer,
            head,
            shared.sort_by(),
            key="head_measures",
            alt=table_alt,
            on_click=shared.open_head,
        )
        note(head_rows_note(run))
    all_heads_table(run)


def draw_lines(run: Run, layer: int, head: int, token: int, n_edges: int) -> Picture:
    """Tokens left and right; of a long text the part around the pinned token."""
    shown = shared.window(run, token, shared.MOST_LINES)
    rows = slice(*shown)
    return bipartite.lines(
        shared.head_steps_of(run, layer, head).pattern[rows, rows],
        run.input.labels[rows],
        most=n_edges,
        pinned=shown.inside(token),
        first=shown.first,
        title=_("Lines of {head}").format(head=head_called(layer, head)),
        _=_,
    )


def draw_tiles(run: Run, layer: int, head: int, token: int) -> Picture:
    """A row of tiles for every layer."""
    return heads.overview(
        layers.head_tiles(run),
        layers.labelled_tiles(run),
        columns=run.config.n_heads,
        selected=layers.tile(run, layer, head),
        pinned=labelled.row_share(run, token),
        _=_,
    )


def draw_table(run: Run, layer: int, head: int, sort_by: str) -> Picture:
    """A row a head."""
    rows = head_rows(run, sort_by)
    here = (layer, head)
    selected = rows.returns.index(here) if here in rows.returns else None
    return head_table.measures(**rows._asdict(), selected=selected, _=_)
