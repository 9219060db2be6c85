"""Which source word each target word stands for: the model's links against the grammar's."""

import streamlit as st

from blocks.inspection import alignment as measures
from blocks.observe.run import Run
from pages.figures import head_table
from pages.figures import two_texts as pictures
from pages.figures.token_matrix import Names
from pages.sections.seq2seq_attention import note_on_cross_attention
from pages.ui.chart import show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.seq2seq import alignment_frames as frames
from pages.ui.seq2seq import alignment_words as words
from pages.ui.seq2seq import attention_controls as controls
from pages.ui.seq2seq import measured
from pages.ui.seq2seq.measured import Pins
from pages.ui.steps import in_steps


@section
def alignment(run: Run) -> None:
    """Links read off cross-attention, held against the true ones where they are known."""
    code = (measures.hard_links, measures.score, measures.least_error)
    place = explained(("word_alignment", "cross_attention"), code, key="alignment")
    if not any(measured.target_words(run)):
        place.info(_("Nothing has been generated, so there is nothing to align."))
        return
    n_parts = _held_out_parts(run)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        row = controls.aligned_row()
        has_best = frames.best_by(run, measures.Row(row), n_parts) is not None
        shown = controls.aligned_head(has_best)
    layer, head = frames.looked_at(run, shown, row, n_parts)
    note_on_cross_attention(run)
    place.info(words.sentence(run, layer, head, row, n_parts), icon=":material/lightbulb:")
    if not has_best:
        _links(run, layer, head, row)
        return
    left, right = st.columns([6, 5])
    with left:
        _links(run, layer, head, row)
    with right:
        _heads(run, layer, head, n_parts)
    frames.table(run, n_parts)


def _held_out_parts(run: Run) -> int:
    """How many parts of the held-out sentences are measured, where the grammar can be asked."""
    if not measured.knows_grammar(run):
        return 0
    what = measured.model_alone(run), measured.source_language(run)
    return len(in_steps(measured.held_out_steps(run), what=what, key="held_out_alignment").found)


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
    note(words.row_note(run, row))


def _heads(run: Run, layer: int, head: int, n_parts: int) -> None:
    sort_by = controls.sort_choice(frames.sort_options(run, n_parts))
    show(
        draw_heads,
        run,
        sort_by,
        (layer, head),
        n_parts,
        key="aligned_heads",
        alt=words.table_alt,
        on_click=controls.open_aligned,
    )
    note(words.table_note(run, frames.MOST_HEADS, n_parts))


def draw_alignment(run: Run, layer: int, head: int, row: str, pins: Pins):
    """Cross-attention with links found and links that are true."""
    found = frames.picture(run, layer, head, row, pins)
    legend = pictures.legend_of_links(_, is_known=found["true"] is not None)
    title = words.links_title(layer, head) + f" · {legend}"
    names = Names(
        title, _("target word"), _("source token"), found.pop("rows"), found.pop("columns")
    )
    return pictures.alignment_map(names=names, **found, _=_)


def draw_heads(run: Run, sort_by: str, selected: tuple[int, int], n_parts: int):
    """A row a head."""
    return head_table.measures(**frames.head_rows(run, sort_by, selected, n_parts), _=_)
