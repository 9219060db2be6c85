"""Widgets of three attentions and of their alignment."""

from functools import partial

import streamlit as st

from blocks.inspection import two_texts
from blocks.inspection.two_texts import AttentionKind
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.ui import link
from pages.ui.attention.words import head_called
from pages.ui.controls import slider
from pages.ui.language import _, current_language
from pages.ui.seq2seq import measured
from pages.ui.seq2seq.attention_fields import ALIGNED, TEXTS
from pages.ui.seq2seq.measured import Chosen
from pages.ui.views import head_choice, one_of_layers

KIND_LABELS = {
    "encoder": N_("encoder self-attention"),
    "decoder": N_("decoder self-attention"),
    "cross": N_("cross-attention"),
}
TEXT_LABELS = {"target": N_("target token"), "source": N_("source token")}
ALIGNED_LABELS = {
    "best_head": N_("best head"),
    "one_head": N_("the chosen head"),
    "layer_mean": N_("mean of the layer"),
}
ROW_LABELS = {"writes": N_("predicts the word"), "reads": N_("has read the word")}
SORT_LABELS = {
    "held_out": N_("error rate on validation sentences"),
    "held_out_reads": N_("error rate on validation sentences, one row later"),
    "error": N_("error rate on this sentence"),
    "error_reads": N_("error rate on this sentence, one row later"),
    "precision": N_("precision on this sentence"),
    "recall": N_("recall on this sentence"),
    "layer": N_("layer"),
}


def which_attention(run: Run, which: Chosen) -> None:
    """Which of the three, which layer, which head."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        _choose("attention_of", _("Attention"), AttentionKind, KIND_LABELS)
        _sharpest(run, which)
    left, right = st.columns(2, vertical_alignment="bottom")
    with left:
        _layer(run, which)
    with right, st.container(gap="xxsmall"):
        if run.config.n_heads > 1:
            st.caption(_("Head"))
        head_choice(run, which.head)


def _sharpest(run: Run, which: Chosen) -> None:
    """The way to the head of this attention that reads from the fewest tokens."""
    table = measured.all_heads(run, which.kind)
    found = table.loc[table["entropy_bits"].idxmin()]
    there = int(found["layer"]), int(found["head"])
    text = _("Sharpest head: {head} (effectively {n:.1f} tokens)")
    st.button(
        text.format(head=head_called(*there), n=found["effective_tokens"]),
        icon=":material/my_location:",
        on_click=open_head,
        args=(str(which.kind), *there),
        key="sharpest_of_kind",
        disabled=there == (which.layer, which.head),
    )


def _choose(name: str, label: str, options, labels: dict[str, str], shown: str = "") -> None:
    """A few choices side by side, with their labels."""
    st.segmented_control(
        label,
        [str(option) for option in options],
        format_func=lambda option: _(labels.get(option, option)),
        required=True,
        wrap=True,
        **link.view(name, shown or link.value(name), (tuple(options), current_language())),
    )


def _layer(run: Run, which: Chosen) -> None:
    """Layers of the half that has this attention, counted from 1 on the screen."""
    n_layers = two_texts.n_layers(run.config, which.kind)
    if n_layers == 1:
        st.caption(_("Layer") + " 1")
    else:
        one_of_layers(n_layers, which.layer)


def open_tile(kind: AttentionKind):
    """What a click on a tile of this attention does: heads are counted through all layers."""
    return partial(_open_tile, str(kind))


def _open_tile(kind: str, customdata: list) -> None:
    layer, head = divmod(int(customdata[0]), link.config().n_heads)
    open_head(kind, layer, head)


def open_head(kind: str, layer: int, head: int) -> None:
    """Look at this head, everywhere on the page."""
    link.change("attention_of", kind)
    link.change("layer", layer)
    link.change("head", head)
    link.redraw_everything()


def pin_cell(kind: AttentionKind):
    """What a click on a cell does: its query is pinned, and of two texts its key too."""
    return partial(_pin_cell, kind)


def _pin_cell(kind: AttentionKind, customdata: list) -> None:
    query, key = int(customdata[0]), int(customdata[1])
    if kind.is_of_source:
        pin("source", query)
    else:
        if kind is AttentionKind.CROSS:
            link.change("token", key)
        pin("target", query)


def pin_end(kind: AttentionKind):
    """What a click on a token at either end of the lines does."""
    return partial(_pin_end, kind)


def _pin_end(kind: AttentionKind, customdata: list) -> None:
    is_key = bool(customdata[1])
    is_source = kind.reads_source if is_key else kind.is_of_source
    pin("source" if is_source else "target", int(customdata[0]))


def pin_in_strip(customdata: list) -> None:
    """A token of either text was clicked: [number, 1 if of the target]."""
    pin("target" if customdata[1] else "source", int(customdata[0]))


def pin(text: str, token: int) -> None:
    """Pin a token of the source or of the target, and follow it."""
    link.change("pinned_in", text)
    link.change("token" if text == "source" else "target_token", token)
    link.redraw_everything()


def followed() -> str:
    """Which pinned token is followed through both texts."""
    _choose("pinned_in", _("Follow the pinned token"), TEXTS, TEXT_LABELS)
    return link.value("pinned_in")


MOST_EDGES = 16


def n_edges(n_keys: int) -> int:
    """How many lines leave each token: the reader's number, as far as there are keys."""
    return min(link.value("edges"), n_keys, MOST_EDGES)


def edges_choice(n_keys: int) -> None:
    """The widget for it."""
    most = min(MOST_EDGES, n_keys)
    if most > 1:
        slider("edges", _("Lines from each token"), n_edges(n_keys), most=most)


def aligned_head(has_best: bool) -> str:
    """Whose attention is aligned by; which head is best only the truth can say."""
    options = ALIGNED if has_best else ALIGNED[1:]
    chosen = link.value("aligned_head")
    shown = chosen if chosen in options else options[-1]
    _choose("aligned_head", _("Links from"), options, ALIGNED_LABELS, shown)
    return shown


def aligned_row() -> str:
    """Which row of the attention speaks for a target word."""
    _choose("aligned_row", _("Query row"), ROW_LABELS, ROW_LABELS)
    return link.value("aligned_row")


def sort_choice(options: tuple[str, ...]) -> str:
    """The order of the heads: the reader's where there is such a measure."""
    chosen = link.value("sort_aligned_by")
    shown = chosen if chosen in options else options[0]
    with st.container(key="sort_aligned_by"):
        st.selectbox(
            _("Sort heads by"),
            options,
            format_func=lambda name: _(SORT_LABELS.get(name, name)),
            **link.view("sort_aligned_by", shown, (options, current_language())),
        )
    return shown


def open_aligned(customdata: list) -> None:
    """A head of the table was clicked: [layer, head]; head −1 is the mean of its layer."""
    layer, head = int(customdata[0]), int(customdata[1])
    link.change("aligned_head", "layer_mean" if head < 0 else "one_head")
    open_head(str(AttentionKind.CROSS), layer, max(head, 0))


def pin_aligned(customdata: list) -> None:
    """A cell of the alignment was clicked: its target word and source token are pinned."""
    _pin_cell(AttentionKind.CROSS, customdata)
