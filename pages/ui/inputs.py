"""What goes into the model, and who may see whom."""

import streamlit as st

from blocks.masks import MaskConfig, MaskKind
from blocks.run import Input, PaddingSide, Run
from blocks.text.words import first_words, words
from pages.ui import link
from pages.ui.controls import choose, slider
from pages.ui.fields import INPUT_KINDS, SAMPLES
from pages.ui.labelled import pinned_token
from pages.ui.language import LANGUAGES, _
from pages.ui.settings import MAX_CHARACTERS, MAX_TOKENS

EMPTY = "∅"


def current_run() -> Run:
    """The run that the state describes."""
    return Run(
        config=link.config(),
        input=_input(),
        mask=MaskConfig(
            mask_kind=MaskKind(link.value("mask_kind")),
            window_size=link.value("window_size"),
            prefix_len=link.value("prefix_len"),
        ),
        seed=link.value("seed"),
        device=link.value("device"),
        dtype=link.value("dtype"),
        training=link.value("training"),
    )


def _input() -> Input:
    padding = {
        "n_padding": link.value("n_padding"),
        "padding_side": PaddingSide(link.value("padding_side")),
    }
    if link.value("input_kind") == "random":
        return Input(batch=link.value("batch"), seq_len=link.value("seq_len"), **padding)
    tokens, _total = words(link.value("text"), at_most=MAX_TOKENS)
    return Input(tokens=tokens or (EMPTY,), **padding)


def shorten(seq_len: int) -> None:
    """Bring the input, padding included, to this many tokens."""
    n_padding = min(link.value("n_padding"), seq_len - 1)
    link.change("n_padding", n_padding)
    if link.value("input_kind") == "random":
        link.change("seq_len", seq_len - n_padding)
    else:
        link.change("text", first_words(link.value("text"), seq_len - n_padding))


def input_controls() -> None:
    """A sentence, or the textbook's random tensor."""
    choose("input_kind", _("Input"), INPUT_KINDS)
    if link.value("input_kind") == "random":
        slider("batch", _("batch · sequences at once"), 1, 64, link.value("batch"))
        slider("seq_len", _("seq_len · tokens"), 1, MAX_TOKENS, link.value("seq_len"))
        return
    st.text_area(
        _("Sentence"),
        max_chars=MAX_CHARACTERS,
        height=80,
        label_visibility="collapsed",
        placeholder=_("Type a sentence, in any language"),
        **link.view("text", link.value("text")),
    )
    _tokens_note()


def _tokens_note() -> None:
    tokens, total = words(link.value("text"), at_most=MAX_TOKENS)
    if not tokens:
        note = _("No token yet: {empty} stands for the empty text. Type a sentence.")
        st.info(note.format(empty=EMPTY))
    elif total > len(tokens):
        note = _("The text has {total:,} tokens; the first {shown} are used.")
        st.info(note.format(total=total, shown=len(tokens)))
    with st.container(horizontal=True, gap="small"):
        for language in LANGUAGES:
            sample = SAMPLES[language]
            st.button(
                _("Sample: {text}").format(text=sample[:14] + "…"),
                key=f"sample_{language}",
                type="tertiary",
                on_click=link.change,
                args=("text", sample),
            )


def mask_controls() -> None:
    """The mask, and the sizes that some masks need."""
    choose("mask_kind", _("Mask · who may see whom"), MaskKind)
    kind = MaskKind(link.value("mask_kind"))
    if kind is MaskKind.SLIDING_WINDOW:
        slider("window_size", _("window_size · keys"), 1, 64, link.value("window_size"))
    if kind is MaskKind.PREFIX:
        slider("prefix_len", _("prefix_len · tokens"), 0, 64, link.value("prefix_len"))
    if kind.hides_padding or link.value("n_padding"):
        slider("n_padding", _("n_padding · padding tokens"), 0, 64, link.value("n_padding"))
        choose("padding_side", _("Padding side"), PaddingSide)


def token_choice(run: Run) -> None:
    """The token that is outlined in every picture."""
    labels = run.input.labels
    with st.container(key="token"):
        st.selectbox(
            _("Pinned token · the same in every picture"),
            range(len(labels)),
            format_func=lambda i: f"{i + 1} · {labels[i]}",
            **link.view("token", pinned_token(run), labels),
        )
