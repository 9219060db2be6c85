"""Which source word each target word stands for: the model's links against the grammar's."""

import streamlit as st

from blocks.inspection import alignment as measures
from blocks.run import Run
from pages.figures import head_table
from pages.figures import two_texts as pictures
from pages.figures.token_matrix import Names
from pages.ui.chart import show
from pages.ui.explain import heading
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.seq2seq import alignment_frames as frames
from pages.ui.seq2seq import alignment_words as words
from pages.ui.seq2seq import attention_controls as controls
from pages.ui.seq2seq import measured
from pages.ui.seq2seq.measured import Pins


@section
def alignment(run: Run) -> None:
    """Links read off cross-attention, held against the true ones where they are known."""
    code = (measures.hard_links, measures.score, measures.least_error)
    heading(_("Alignment"), ("word_alignment", "cross_attention"), code, key="alignment")
    if not any(measured.target_words(run)):
        st.info(_("Nothing is written yet, so there is nothing to align."))
        return
    is_known = measured.truth(run) == "known"
    place = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        shown = controls.aligned_head(is_known)
        row = controls.aligned_row()
    layer, head = frames.looked_at(run, shown, row)
    place.info(words.sentence(run, layer, head, row), icon=":material/lightbulb:")
    if is_known:
        left, right = st.columns([6, 5])
        with right:
            _heads(run, layer, head)
        with left:
            _links(run, layer, head, row)
        frames.table(run)
    else:
        _links(run, layer, head, row)


def _links(run: Run, layer: int, head: int, row: str) -> None:
    show(
        draw_alignment,
        run,
        layer,
        head,
        row,
        measured.pins(run),
        key="alignment_map",
        alt=words.alt,
        on_click=controls.pin_aligned,
    )
    st.caption(words.row_note(run, row))


def _heads(run: Run, layer: int, head: int) -> None:
    sort_by = controls.sort_choice()
    shown = run, sort_by, (layer, head)
    show(
        draw_heads,
        *shown,
        key="aligned_heads",
        alt=words.table_alt,
        on_click=controls.open_aligned,
    )
    st.caption(words.table_note(run, frames.MOST_HEADS))


def draw_alignment(run: Run, layer: int, head: int, row: str, pins: Pins):
    """Cross-attention with links found and links that are true."""
    found = frames.picture(run, layer, head, row, pins)
    legend = pictures.legend_of_links(_, is_known=found["true"] is not None)
    title = f"{words.aligned_called(layer, head)} · {legend}"
    names = Names(
        title, _("target word"), _("source token"), found.pop("rows"), found.pop("columns")
    )
    return pictures.alignment_map(names=names, **found, _=_)


def draw_heads(run: Run, sort_by: str, selected: tuple[int, int]):
    """A row a head."""
    return head_table.measures(**frames.head_rows(run, sort_by, selected), _=_)
