"""The source: its text, its padding, and who may see whom among the target."""

import unicodedata
from collections.abc import Sequence

import streamlit as st

from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.model.masks import MaskKind
from blocks.observe.run import PaddingSide, Run
from blocks.text.bilingual import SentenceTokenizer
from blocks.text.tokenizer import visible
from blocks.training.tasks import TaskKind
from pages.panels.seq2seq import shared
from pages.show.choices import chooses
from pages.show.controls import choose, slider
from pages.show.inputs import kept_note, read_instead, sample_buttons, text_field
from pages.stage import link, tokens
from pages.state.labelled import pinned_target
from pages.state.labelled import pinned_token as pinned_source
from pages.state.values import State
from pages.words.language import _, current_language, enumeration, literal

TASKS = {
    TaskKind.TRANSLATION: N_("Translate between English and Chinese"),
    TaskKind.COPY: N_("Copy letters: the simplest alignment"),
    TaskKind.REVERSE: N_("Reverse letters: attention runs backward"),
    TaskKind.SORT: N_("Sort letters: attention looks for the next letter in the alphabet"),
    TaskKind.ADDITION: N_("Addition: attention reads one column after another"),
}
TARGET_MASKS = (MaskKind.CAUSAL, MaskKind.NONE)
MOST_NAMED = 12
UNSEEN = {"Cf", "Mn", "Zl", "Zp", "Zs"}


def source_controls(run: Run, state: State) -> None:
    """The text that is read, and samples of it."""
    st.caption(_("Source · what the encoder reads"))
    text_field(run)
    for note in source_notes(state):
        st.info(note)
    sample_buttons(run)
    what_it_can_read(run)


def what_it_can_read(run: Run) -> None:
    """Sentences of the grammar that no translator learned from, and all words; or nothing."""
    reader = tokens.tokenizer()
    if not isinstance(reader, SentenceTokenizer):
        return
    with st.popover(_("Known sentences and words"), icon=":material/dictionary:"):
        st.caption(
            _(
                "Validation sentences from the grammar: their translations and word "
                "alignments are known."
            )
        )
        for i, text in enumerate(shared.sentences(tokens.vocabulary(), current_language())):
            st.button(text, key=f"known_{i}", on_click=read_instead, args=(run, text))
        st.caption(_("Other translations may be right too, but the grammar cannot confirm them."))
        st.markdown(" · ".join(sorted(reader.english, key=str.lower)))
        st.markdown(" · ".join(sorted(reader.chinese)))


def source_notes(state: State) -> list[str]:
    """What was not read as it stands, and why."""
    found = tokens.reading()
    notes = [kept] if (kept := kept_note(state.text)) else []
    if not found.total:
        text = _("The source contains no tokens; {empty} stands for the empty text.")
        notes.append(text.format(empty=tokens.EMPTY))
    elif found.total > len(found.pieces):
        text = _("The source has {total:,} tokens; the first {shown:,} are used.")
        notes.append(text.format(total=found.total, shown=len(found.pieces)))
    if found.left_out:
        notes.append(_unknown(found.left_out))
    return notes


def _unknown(left_out: tuple[str, ...]) -> str:
    """Names the words that have no token."""
    words = enumeration(literal(seen(word)) for word in left_out[:MOST_NAMED])
    if len(left_out) > MOST_NAMED:
        words += " …"
    reader = tokens.tokenizer()
    if isinstance(reader, SentenceTokenizer):
        return _(
            "The translator knows {n:,} words, but not {words}. Unknown words are left out, "
            "so the translation may be wrong or never end."
        ).format(n=len(reader.english) + len(reader.chinese), words=words)
    return _(
        "These characters are not in this model's vocabulary and were left out: {signs}."
    ).format(signs=words)


def seen(word: str) -> str:
    """A word with signs for its spaces; one that is never seen is named by its code points."""
    if any(unicodedata.category(each) not in UNSEEN for each in word):
        return visible(word)
    return " ".join(f"U+{ord(each):04X}" for each in word) if word.strip(" ") else visible(word)


def link_to_training() -> None:
    """The ways to an encoder–decoder of the reader's own: a translator, or one of the others."""
    kept = {name: text for name, text in link.as_query().items() if name == "lang"}
    learner = {"learner": str(Architecture.ENCODER_DECODER)}
    with st.popover(_("Train one yourself"), icon=":material/model_training:", key="train_own"):
        st.caption(_("A model trained on the Training page can be opened on this page."))
        for task, label in TASKS.items():
            query = {**kept, "task": str(task), **learner}
            st.page_link("pages/training.py", label=_(label), query_params=query)


def target_mask_controls(state: State) -> None:
    """The mask among the target; padding of the source is hidden whatever it is."""
    kinds = dict.fromkeys((*map(str, TARGET_MASKS), state.mask_kind))
    choose("mask_kind", _("Mask of the target's self-attention"), kinds)
    slider("n_padding", _("n_padding · padding tokens in the source, masked"), most=16)
    if state.n_padding:
        choose("padding_side", _("Padding side"), PaddingSide)


@chooses("token", "target_token")
def two_tokens(run: Run, *_here: object, state: State) -> None:
    """The token of each text that is outlined in every picture."""
    left, right = st.columns(2)
    with left:
        labels, shown = run.input.labels, pinned_source(run, state)
        _pin("token", _("Pinned source token"), labels, shown, range(1, len(labels) + 1))
    with right:
        labels, shown = run.target_or_start.labels, pinned_target(run, state)
        _pin("target_token", _("Pinned target token"), labels, shown, range(len(labels)))


def _pin(
    name: str, label: str, labels: tuple[str, ...], shown: int, numbers: Sequence[int]
) -> None:
    """The tokens with their numbers; the start, which no step writes, has none."""
    with st.container(key=name):
        st.selectbox(
            label,
            range(len(labels)),
            format_func=lambda i: f"{numbers[i]} · {labels[i]}" if numbers[i] else labels[i],
            **link.view(name, shown, labels),
        )
