"""What the encoder hands over to the decoder: its vectors, and how they came about."""

import streamlit as st

from blocks.inspection import encoder_output as measures
from blocks.observe.run import Run
from pages.figures import encoder_output
from pages.ui import labelled
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.said import say
from pages.ui.seq2seq import measured
from pages.ui.seq2seq import memory_words as words

BEFORE, AFTER = 0, -1


@section
def memory(run: Run) -> None:
    """How alike the source tokens are before and after, and which layer made them so."""
    code = (measures.tokens, measures.cosines, measures.changes, measures.across_languages)
    with explained(("encoder_output",), code, key="memory"):
        say(words.sentence, run)
    pinned = labelled.pinned_token(run)
    for step, column in zip((BEFORE, AFTER), st.columns(2), strict=True):
        with column:
            shown = run, step, pinned
            key = "cosines_before" if step == BEFORE else "cosines_after"
            show(draw_similarity, *shown, key=key, alt=words.similarity_alt)
    left, right = columns(2)
    with left:
        show(draw_changes, run, pinned, key="source_changes", alt=words.changes_alt)
        note(_("‖after − before‖ / ‖before‖ of each token: 0 would be no change at all."))
    with right:
        st.markdown(words.lengths_sentence(run))
        words.table(run)
    if said := words.across_sentence(run):
        st.markdown(said)


def draw_similarity(run: Run, step: int, pinned: int):
    """Source tokens against each other; of a long source the part around the pinned one."""
    shown = measured.part(len(run.input.labels), pinned, measured.MOST_ROWS)
    title = (
        _("Similarity before the first layer")
        if step == BEFORE
        else _("Similarity at the encoder's output")
    )
    return encoder_output.similarity(
        measured.source_cosines(run, step)[shown, shown],
        run.input.labels[shown],
        title=title,
        pinned=pinned - shown.start,
        _=_,
    )


def draw_changes(run: Run, pinned: int):
    """How much each step changes each source token."""
    shown = measured.part(len(run.input.labels), pinned, measured.MOST_COLUMNS)
    return encoder_output.changes(
        measured.source_changes(run)[:, shown],
        run.input.labels[shown],
        words.step_names(run),
        pinned=pinned - shown.start,
        _=_,
    )
