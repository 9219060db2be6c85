"""Three attentions of an encoder–decoder: all heads, one of them large, one token in both texts."""

import streamlit as st

from blocks.inspection import source, two_texts
from blocks.inspection.two_texts import AttentionKind
from blocks.model.attention import CrossAttention
from blocks.observe.run import Run
from pages.figures import bipartite, heads
from pages.figures import two_texts as pictures
from pages.figures.token_matrix import Names
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.said import say
from pages.ui.seq2seq import attention_controls as controls
from pages.ui.seq2seq import attention_frames as frames
from pages.ui.seq2seq import attention_words as words
from pages.ui.seq2seq import measured
from pages.ui.seq2seq.measured import Chosen, Pins

THIRD = 300
"""Pixels that a third of the page is likely to have."""


@section
def three_attentions(run: Run) -> None:
    """Who reads whom: source and source, target and target, target and source."""
    which, pins = measured.chosen(run), measured.pins(run)
    code = (CrossAttention, *source.heads_source(), two_texts.frame)
    concepts = ("cross_attention", "attention", "masks")
    with explained(concepts, code, key="three_attentions"):
        say(words.reads_sentence, run, which, pins)
    note_on_cross_attention(run)
    if said := words.padding_note(run):
        st.info(said, icon=":material/visibility_off:")
    _all_heads(run, which, pins)
    controls.which_attention(run, which)
    _one_head(run, which, pins)
    _one_token(run, which, pins)


def note_on_cross_attention(run: Run) -> None:
    """Where what is drawn is read in vain."""
    if said := words.switched_off(run):
        st.info(said, icon=":material/link_off:")


def _all_heads(run: Run, which: Chosen, pins: Pins) -> None:
    for kind, column in zip(AttentionKind, st.columns(3), strict=True):
        with column:
            show(
                draw_tiles,
                run,
                kind,
                which if which.kind is kind else None,
                pins,
                key=f"tiles_{kind}",
                alt=words.tiles_alt,
                on_click=controls.open_tile(kind),
            )
    note(
        _(
            "One row of tiles per layer, one tile per head, all on one scale; grey is "
            "masked. A tick marks a pinned token. Click a tile to choose its head."
        )
    )


def _one_head(run: Run, which: Chosen, pins: Pins) -> None:
    left, right = columns(2)
    with left:
        on_click = controls.pin_cell(which.kind)
        shown = run, which, pins
        show(draw_map, *shown, key="two_text_map", alt=words.map_alt, on_click=on_click)
        note(words.map_note(run, which, measured.cut(run, which.kind, pins)))
    with right:
        n_edges = controls.n_edges(len(measured.keys(run, which.kind)))
        shown = run, which, pins, n_edges, measured.followed_text(which.kind)
        on_click = controls.pin_end(which.kind)
        show(draw_lines, *shown, key="two_text_lines", alt=words.lines_alt, on_click=on_click)
        note(words.lines_note(n_edges, bipartite.LEAST))
        controls.edges_choice(len(measured.keys(run, which.kind)))


def _one_token(run: Run, which: Chosen, pins: Pins) -> None:
    text = controls.followed()
    shown = run, which.layer, which.head, text, pins
    st.markdown(words.follow_sentence(*shown))
    show(
        draw_strips,
        *shown,
        key="strips",
        alt=words.strips_alt,
        on_click=controls.pin_in_strip,
    )


def draw_tiles(run: Run, kind: AttentionKind, which: Chosen | None, pins: Pins):
    """All heads of one of the three attentions, a row a layer."""
    return heads.overview(
        measured.head_tiles(run, kind),
        frames.labelled_tiles(run, kind),
        columns=run.config.n_heads,
        selected=None if which is None else frames.tile(run, which),
        pinned=frames.share(measured.queries(run, kind), pins.reading(kind)),
        pinned_key=frames.pinned_key_share(run, kind, pins),
        title=frames.kind_title(kind),
        width=THIRD,
        _=_,
    )


def draw_map(run: Run, which: Chosen, pins: Pins):
    """One head; of long texts the part around the pinned tokens."""
    cut = measured.cut(run, which.kind, pins)
    names = Names(
        words.map_title(which),
        _("query: attends"),
        _("key: attended to"),
        measured.queries(run, which.kind)[cut.rows],
        measured.keys(run, which.kind)[cut.columns],
    )
    return pictures.attention_map(
        measured.weights(run, which)[cut.rows, cut.columns],
        names,
        pinned=cut.pinned,
        pinned_column=cut.pinned_column,
        first=cut.first,
        sums=measured.row_sums(run, which)[cut.rows],
        _=_,
    )


def draw_lines(run: Run, which: Chosen, pins: Pins, n_edges: int, followed: str):
    """The same as lines; those of the followed token stand out."""
    cut = measured.cut(run, which.kind, pins, measured.MOST_LINES)
    is_query = followed == "query"
    return bipartite.lines(
        measured.weights(run, which)[cut.rows, cut.columns],
        measured.queries(run, which.kind)[cut.rows],
        most=n_edges,
        pinned=cut.pinned if is_query else None,
        first=cut.rows.start,
        keys=bipartite.Keys(
            measured.keys(run, which.kind)[cut.columns],
            cut.columns.start,
            None if is_query else cut.pinned_column,
        ),
        title=words.map_title(which),
        _=_,
    )


def draw_strips(run: Run, layer: int, head: int, text: str, pins: Pins):
    """The followed token in the source and in the target."""
    both = frames.strips(run, layer, head, text, pins)
    source_strip, target_strip = (pictures.Strip(**each) for each in both)
    title = frames.strips_title(run, layer, head, text, pins)
    return pictures.strips(source_strip, target_strip, title=title, _=_)
