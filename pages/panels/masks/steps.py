"""Every mask for this input, and what the chosen one does to a head; painting one by hand."""

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from blocks.inspection import mask_faults
from blocks.inspection import mask_steps as steps_measures
from blocks.inspection.mask_steps import Cells, of_kind
from blocks.model import masks as mask_rules
from blocks.model.attention import attention_pattern, attention_scores
from blocks.model.masks import MOST_PAINTED, MaskKind, causal, painted_text
from blocks.observe.run import Run
from pages.figures import heads, mask_steps
from pages.figures.counting import from_one
from pages.figures.theme import Picture
from pages.panels.masks import shared
from pages.ui import labelled, link, terms
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.language import _, enumeration
from pages.ui.said import say
from pages.ui.views import head_choice, layer_choice, pin_token

COLUMNS = 4  # of the small masks


@lru_cache(maxsize=32)
def kinds(run: Run) -> NDArray[np.uint8]:
    """The masks of every kind for this input, side by side, one byte a cell."""
    return steps_measures.kinds_side_by_side(run, COLUMNS)


def kinds_note(run: Run) -> str:
    """How to read the small masks, and what they cannot show for this input."""
    note = _(
        "Blue cells are allowed, grey ones forbidden. Choose a mask by a click, or by name above."
    )
    if not run.input.n_padding:
        note += " " + _("This input has no padding token, so padding masks hide nothing.")
    return note


def steps_sentence(run: Run, layer: int, head: int, query: int) -> str:
    """What the mask changes for the pinned query of this head."""
    is_open = shared.open_cells(run)[query]
    scores, pattern = shared.steps(run, layer, head)
    said = _("Query {query} may attend to {n} of {all} keys.")
    begun = said.format(query=shared.token(run, query), n=int(is_open.sum()), all=len(is_open))
    if not is_open.any():
        return " ".join((begun, _("Its row is all zeros: attention adds nothing there.")))
    if not np.isfinite(scores[query]).all():
        return " ".join((begun, _("Some of its scores are too large for this number format.")))
    key = int(pattern[query].argmax())
    text = _("Its largest weight, {weight:.3f}, goes to key {key}.")
    most = text.format(key=shared.token(run, key), weight=float(pattern[query, key]))
    return f"{begun} {most} {_without_mask(run, layer, head)}"


def _without_mask(run: Run, layer: int, head: int) -> str:
    """What the softmax would have given to keys that are forbidden."""
    scores, _pattern = shared.steps(run, layer, head)
    is_open = shared.open_cells(run)
    if not np.isfinite(scores).all() or is_open.all():
        return ""
    rows = np.exp(scores.astype(np.float64) - scores.max(axis=1, keepdims=True))
    shares = np.where(is_open, 0, rows).sum(axis=1) / rows.sum(axis=1)
    text = _(
        "Without the mask, keys that are forbidden would take {mean:.0%} of the weight of this "
        "head, and {most:.0%} at query {query}."
    )
    worst = int(shares.argmax())
    return text.format(mean=shares.mean(), most=shares[worst], query=shared.token(run, worst))


def kinds_alt(run: Run, *_more: Hashable) -> str:
    """The small masks in words."""
    counts = []
    for kind in MaskKind:
        n_open = int(shared.open_cells(of_kind(run, kind)).sum())
        counts.append(f"{terms.option(kind)} {n_open}")
    text = _("Masks of this input side by side, with the number of allowed cells: {counts}.")
    return text.format(counts=enumeration(counts))


def mask_alt(run: Run, *_more: Hashable) -> str:
    """The large mask in words."""
    is_open = shared.open_cells(run)
    text = _("Mask {mask}: {n:,} of {all:,} cells are allowed; queries down, keys across.")
    name = terms.option(run.mask.mask_kind)
    return text.format(mask=name, n=int(is_open.sum()), all=is_open.size)


def scores_alt(run: Run, layer: int, head: int, *_more: Hashable) -> str:
    """The scores in words."""
    scores, _pattern = shared.steps(run, layer, head)
    finite = scores[np.isfinite(scores)]
    text = _("Scores of head {head} before the mask, {least:.2f} to {most:.2f}.")
    least, most = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    return text.format(head=from_one(head), least=least, most=most)


def choose_kind(customdata: list[Any]) -> None:
    """A small mask was clicked."""
    link.change("mask_kind", str(list(MaskKind)[int(customdata[0])]))
    link.redraw_everything()


def padding_button(run: Run) -> None:
    """A way to see what padding masks do, where there is no padding token."""
    if not run.input.n_padding:
        shared._button("use_some_padding", _("Add 3 padding tokens"), n_padding=3)


def kind_labels() -> list[str]:
    """What the masks are called, in the order of their tiles."""
    return [terms.option(kind) for kind in MaskKind]


def is_paintable(run: Run) -> bool:
    """A link has room for so many cells."""
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
    link.change("painted", painted_text(cells))
    link.change("mask_kind", str(MaskKind.PAINTED))
    link.redraw_everything()


def _start(run: Run, how: str) -> None:
    n = len(run.input.labels)
    starts = {
        "this": shared.open_cells(run),
        "causal": causal(n).numpy(),
        "open": np.ones((n, n), dtype=bool),
        "closed": np.zeros((n, n), dtype=bool),
    }
    _keep(starts[how])


def painting_controls(run: Run) -> None:
    """The same by keyboard: choose a query and a key, and what to do there."""
    if not is_paintable(run):
        text = _("Masks of up to {n} tokens can be painted; this input has {seq_len}.")
        st.caption(text.format(n=MOST_PAINTED, seq_len=len(run.input.labels)))
        return
    query, key = _chosen(run, "paint_query"), _chosen(run, "paint_key")
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
            "causal": _("Start from causal"),
            "open": _("Allow all"),
            "closed": _("Forbid all"),
        }
        for how, label in starts.items():
            st.button(label, on_click=_start, args=(run, how), key=f"paint_from_{how}")


def _chosen(run: Run, name: str) -> int:
    return min(link.value(name), len(run.input.labels) - 1)


def _token_choice(run: Run, name: str, label: str, shown: int) -> None:
    labels = run.input.labels
    with st.container(key=name):
        st.selectbox(
            label,
            range(len(labels)),
            format_func=lambda i: f"{i + 1} · {labels[i]}",
            **link.view(name, shown, labels),
        )


def _button(
    run: Run, key: str, label: str, query: int | slice, column: int | slice, open_it: bool
) -> None:
    st.button(
        label,
        on_click=lambda: _paint(run, query, column, open_it=open_it),
        key=key,
    )


CODE = (mask_rules.build_mask, mask_faults.raw_scores, attention_scores, attention_pattern)


def what_the_mask_does(run: Run, layer: int, head: int, token: int) -> None:
    """All masks small; the chosen one, the scores before it and the pattern after it large."""
    place = explained(("masks", "attention"), CODE, key="mask_steps")
    left, right = columns(2)
    with left:
        click = choose_kind
        show(draw_kinds, run, token, key="mask_kinds", alt=kinds_alt, on_click=click)
        note(kinds_note(run))
        padding_button(run)
    with right:
        title = _("Paint a mask by hand")
        st.markdown(f"**{title}**")
        note(_("Click a cell of the large mask below, or choose one here."))
        painting_controls(run)
    layer_choice(run)
    head_choice(run, head)
    three_pictures(run, layer, head, token)
    with place:
        say(steps_sentence, run, layer, head, token)


def three_pictures(run: Run, layer: int, head: int, token: int) -> None:
    """Mask, scores, pattern on the same axes."""
    shown = run, layer, head, token
    first, second, third = columns(3)
    with first:
        paint = cell_painter(run) if is_paintable(run) else None
        show(draw_mask, run, token, key="mask_map", alt=mask_alt, on_click=paint)
    with second:
        show(draw_scores, *shown, key="score_map", alt=scores_alt, on_click=pin_token)
    with third:
        show(draw_pattern, *shown, key="pattern_map", alt=shared.pattern_alt, on_click=pin_token)


def draw_kinds(run: Run, token: int) -> Picture:
    """The mask of every kind for this input."""
    labels = kind_labels()
    return heads.overview(
        kinds(run),
        pd.DataFrame({"head": range(len(labels)), "label": labels, "hover": labels}),
        columns=COLUMNS,
        selected=list(MaskKind).index(run.mask.mask_kind),
        pinned=labelled.row_share(run, token),
        title=_("Every mask, for this input"),
        _=_,
    )


def draw_mask(run: Run, token: int) -> Picture:
    """Who may see whom, large."""
    labels = run.input.labels
    is_open, can_paint = shared.open_cells(run), is_paintable(run)
    return mask_steps.mask_map(is_open, labels, labels, pinned=token, can_paint=can_paint, _=_)


def draw_scores(run: Run, layer: int, head: int, token: int) -> Picture:
    """Scores of one head before the mask."""
    scores, _pattern = shared.steps(run, layer, head)
    return mask_steps.score_map(scores, run.input.labels, run.input.labels, pinned=token, _=_)


def draw_pattern(run: Run, layer: int, head: int, token: int) -> Picture:
    """Pattern of one head after the mask."""
    _scores, pattern = shared.steps(run, layer, head)
    labels, is_open = run.input.labels, shared.open_cells(run)
    return mask_steps.pattern_map(pattern, is_open, labels, labels, pinned=token, _=_)
