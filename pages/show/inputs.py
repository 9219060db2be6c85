"""What goes into the model, and who may see whom."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import streamlit as st

from blocks.model.kinds import Architecture
from blocks.model.masks import MaskConfig, MaskKind
from blocks.observe.interventions import Intervention, patched_paths
from blocks.observe.run import START as BEGIN
from blocks.observe.run import Input, PaddingSide, Run
from blocks.text.tokenizer import visible
from blocks.text.words import first_words, words
from pages.server import starts
from pages.server.settings import MAX_CHARACTERS, MAX_TOKENS
from pages.show.controls import choose, slider, switch
from pages.stage import interventions as changes
from pages.stage import link, tokens, weights
from pages.stage.phone import is_phone
from pages.state.fields import CHAT, INPUT_KINDS, START, TEXT, samples
from pages.state.labelled import pinned_token
from pages.words import terms
from pages.words.language import _, literal, say_fault, sentences

SAMPLE_SHOWN = 11


def current_run(architecture: Architecture | None) -> Run:
    """The run that the state describes, on a page that shows this architecture (None: any)."""
    learned = weights.learned(architecture)
    config = weights.config(architecture, learned)
    text_input = _input(config.architecture, link.value("text"))
    has_target = config.architecture is Architecture.ENCODER_DECODER
    run = Run(
        config=config,
        weights=learned,
        input=text_input,
        target=target(()) if has_target else None,
        mask=MaskConfig(
            mask_kind=MaskKind(link.value("mask_kind")),
            window_size=link.value("window_size"),
            prefix_len=link.value("prefix_len"),
            painted=link.value("painted"),
        ),
        seed=link.value("seed"),
        device=link.value("device"),
        dtype=link.value("dtype"),
        training=link.value("training"),
    )
    return changed(run, changes.fitting(config, text_input.shape[1]))


def changed(run: Run, interventions: tuple[Intervention, ...]) -> Run:
    """This run with other changes inside; those that patch take it from the other text."""
    is_patched = bool(patched_paths(interventions))
    other = _input(run.config.architecture, link.value("other_text")) if is_patched else None
    return replace(run, interventions=interventions, other=other)


def _input(architecture: Architecture, text: str) -> Input:
    padding = {
        "n_padding": link.value("n_padding"),
        "padding_side": PaddingSide(link.value("padding_side")),
    }
    if architecture.reads_tokens:
        return _read(architecture, text, padding)
    if link.value("input_kind") == "random":
        return Input(batch=link.value("batch"), seq_len=link.value("seq_len"), **padding)
    found, _total = words(text, at_most=MAX_TOKENS)
    return Input(tokens=found or (tokens.EMPTY,), **padding)


def _read(architecture: Architecture, text: str, padding: dict[str, Any]) -> Input:
    pieces = tokens.reading(text).pieces
    if architecture is Architecture.ENCODER_DECODER:
        pieces = tokens.sentence(pieces)
    if architecture is Architecture.ENCODER and link.value("hide_token") and tokens.can_hide():
        pieces = tokens.hide(pieces)
    return Input(
        tokens=tuple(piece.label for piece in pieces),
        token_ids=tuple(piece.token_id for piece in pieces),
        vocabulary=tokens.vocabulary(),
        padding_id=tokens.padding_id(),
        **padding,
    )


def target(token_ids: tuple[int, ...]) -> Input:
    """What is written so far, after its start token."""
    reader, marks = tokens.tokenizer(), tokens.marks()
    start = BEGIN if marks.stop < 0 else tokens.label_of(reader, marks.start)
    return Input(
        tokens=(start, *(tokens.label_of(reader, token_id) for token_id in token_ids)),
        token_ids=(marks.start, *token_ids),
        vocabulary=tokens.vocabulary(),
    )


def shorten(seq_len: int) -> None:
    """Bring the input, padding included, to this many tokens."""
    n_padding = min(link.value("n_padding"), seq_len - 1)
    link.change("n_padding", n_padding)
    if link.value("input_kind") == "random":
        link.change("seq_len", seq_len - n_padding)
    elif tokens.vocabulary():
        link.change("text", tokens.beginning(link.value("text"), seq_len - n_padding))
    else:
        link.change("text", first_words(link.value("text"), seq_len - n_padding))


def vector_controls(run: Run) -> None:
    """For one block: a sentence, or the textbook's random tensor."""
    choose("input_kind", _("Input"), INPUT_KINDS)
    if link.value("input_kind") != "random":
        input_controls(run)
    else:
        slider("batch", _("batch · sequences at once"), link.value("batch"))
        slider("seq_len", _("seq_len · tokens"), link.value("seq_len"))


def input_controls(run: Run) -> None:
    """A sentence, and a sample of one in each language."""
    text_field(run)
    _tokens_note(run)
    prompt_choice()
    sample_buttons(run)


def prompt_choice() -> None:
    """How the text is put to the model, where there is a choice."""
    ways = tokens.prompts()
    if len(ways) == 1:
        return
    names = {TEXT: _("as it is"), CHAT: _("as a question")}
    if START in ways:
        names[START] = _("after {token}").format(token=tokens.start_token())
    choose("prompt", _("How the model reads it"), ways, label_of=lambda way: names[way])


def text_field(run: Run) -> None:
    """Where the reader writes."""
    st.text_area(
        _("Sentence"),
        height=80,
        label_visibility="collapsed",
        placeholder=_("Type a sentence, in any language"),
        **written(run, link.view("text", link.value("text"))),
    )
    if is_phone():
        st.caption(_("Tap outside the field to apply the text."))


def written(run: Run, view: dict[str, Any]) -> dict[str, Any]:
    """A view of the text that lets the pinned token go where another comes to stand there."""
    return view | {"on_change": _in_another_text, "args": (run, view["on_change"], *view["args"])}


def read_instead(run: Run, text: str) -> None:
    """Another text; a pinned token stays pinned where it stands there too."""
    _in_another_text(run, link.change, "text", text)


def _in_another_text(run: Run, change: Callable[..., None], *args: Any) -> None:
    before = _labels(run)
    change(*args)
    place, now = link.value("token"), _labels(run)
    if place is not None and before[place : place + 1] != now[place : place + 1]:
        link.restore("token")


def _labels(run: Run) -> tuple[str, ...]:
    """What stands where in the text, whether it is hidden from the model or not."""
    with link.as_if({**link.state(), "hide_token": False}):
        return _input(run.config.architecture, link.value("text")).labels


def _tokens_note(run: Run) -> None:
    left_out = length_note(run)
    if run.config.architecture.reads_tokens and link.value("text")[:1] == " ":
        st.caption(_("The text begins with a space, which belongs to its first token."))
    if fault := tokens.prompt_fault():
        st.warning(say_fault(fault), icon=":material/block:")
    if run.weights:
        if card := starts.model(starts.original(run.weights)).card:
            note = _(
                "This model was trained only on the task “{task}”: any other text is "
                "unfamiliar to it."
            )
            st.caption(note.format(task=terms.option(card.task)))
        if said := weights.says_numbers(tokens.tokenizer()):
            st.caption(said)
    if left_out:
        note = _("These characters are not in this model's vocabulary and were left out: {signs}.")
        st.info(note.format(signs=" ".join(literal(visible(sign)) for sign in left_out[:8])))


def length_note(run: Run) -> tuple[str, ...]:
    """Say where a text is empty or too long; returns what in it has no token."""
    if run.config.architecture.reads_tokens:
        pieces, total, left_out = tokens.reading()
        n_shown = min(len(pieces), total)
    else:
        found, total = words(link.value("text"), at_most=MAX_TOKENS)
        n_shown, left_out = len(found), ()
    if not total:
        note = _("No tokens yet: {empty} stands for the empty text. Type a sentence.")
        st.info(note.format(empty=tokens.EMPTY))
    elif said := _cut_note(link.value("text"), total, n_shown):
        st.info(said)
    return left_out


def kept_note(text: str) -> str:
    """How much of a typed text is kept, and how much of it a link carries; empty where all is."""
    n_typed, cut, held = link.n_characters(text), "", ""
    if n_typed > len(text):
        said = _("Only the first {kept:,} of {typed:,} characters are kept.")
        cut = said.format(typed=n_typed, kept=len(text))
    if len(text) > MAX_CHARACTERS:
        held = _(
            "The link carries only the first {n:,} characters; the rest stays in this "
            "session. To share the whole text, send it along with the link."
        ).format(n=MAX_CHARACTERS)
    return sentences(cut, held)


def _cut_note(text: str, total: int, n_shown: int) -> str:
    """What of a text is used, where that is not all of it: characters, then tokens."""
    kept, used = kept_note(text), ""
    is_cut = link.n_characters(text) > len(text)
    if total > n_shown:
        said = _("The text has {total:,} tokens; the first {shown:,} are used.")
        if is_cut:
            said = _(
                "These characters make {total:,} tokens, of which the first {shown:,} are used."
            )
        used = said.format(total=total, shown=n_shown)
    return sentences(kept, used)


def sample_buttons(run: Run) -> None:
    """A text to begin with, in each language."""
    found = samples(link.value("preset"))
    shown = {sample: language for language, sample in reversed(list(found.items()))}
    with st.container(horizontal=True, gap="small"):
        for sample, language in reversed(shown.items()):
            st.button(
                _("Sample: {text}").format(text=sample.strip()[:SAMPLE_SHOWN] + "…"),
                key=f"sample_{language}",
                on_click=read_instead,
                args=(run, sample),
            )


def mask_controls() -> None:
    """The mask, and the sizes that some masks need."""
    choose("mask_kind", _("Mask · who may attend to whom"), MaskKind)
    kind = MaskKind(link.value("mask_kind"))
    if kind is MaskKind.SLIDING_WINDOW:
        label = _("window_size · keys in the window")
        slider("window_size", label, link.value("window_size"), most=64)
    if kind is MaskKind.PREFIX:
        label = _("prefix_len · tokens in the prefix")
        slider("prefix_len", label, link.value("prefix_len"), most=64)
    if kind is MaskKind.PAINTED:
        st.caption(_painted_note())
    if kind.hides_padding or link.value("n_padding"):
        slider("n_padding", _("n_padding · padding tokens"), link.value("n_padding"))
        choose("padding_side", _("Padding side"), PaddingSide)


def _painted_note() -> str:
    """For how many tokens a mask was painted, and what holds beyond them."""
    side = link.value("painted").partition(".")[0]
    if not side:
        return _("No mask is painted yet, so the causal mask is used. Paint one on the Masks page.")
    return _(
        "This mask was painted for {n} tokens: for a longer text, the rest of the mask is "
        "causal; for a shorter one, the mask is cropped."
    ).format(n=side)


def hide_control(run: Run) -> None:
    """Whether the pinned token is hidden from the model, where its vocabulary has [MASK]."""
    if run.config.architecture is Architecture.ENCODER and tokens.can_hide():
        switch(
            "hide_token",
            _("Replace the pinned token with [MASK]"),
            help=_(
                "The model sees [MASK] there and has to predict the hidden token from the others."
            ),
        )


def token_choice(run: Run) -> None:
    """The token that is outlined in every picture."""
    labels = run.input.labels
    with st.container(key="token"):
        st.selectbox(
            _("Pinned token · the same in every picture"),
            range(len(labels)),
            format_func=lambda i: f"{i + 1} · {labels[i]}",
            **link.view("token", pinned_token(run, link.now()), labels),
        )
