"""A text of the reader's own to learn from; it stays in the session."""

import streamlit as st

from blocks.corpora.texts import Corpus, corpus_from_bytes
from blocks.model.faults import ConfigError, Fault
from pages.server import settings
from pages.session.slot import Slot, shown_by
from pages.words.language import _, say_fault

TEXT, FAULTS = Slot[Corpus | None]("own_text", None), Slot[tuple[Fault, ...]]("own_text_faults", ())
KINDS = ("txt", "md", "csv", "py", "json", "html", "tex", "log")


def text() -> str | None:
    corpus = TEXT.get()
    return corpus.text if corpus else None


def choice() -> None:
    """Paste or upload; what was wrong with it, or how much there is."""
    with st.container(key="own_text_controls"):
        st.file_uploader(
            _("A text file, preferably UTF-8"), KINDS, key="uploaded_text", on_change=_read_uploaded
        )
        st.text_area(
            _("… or paste a text"),
            key="pasted_text",
            height=100,
            max_chars=settings.corpus_characters(),
            on_change=_read_pasted,
        )
    for fault in FAULTS.get():
        st.warning(say_fault(fault))
    _summary()


def _summary() -> None:
    corpus = TEXT.get()
    if corpus is None:
        st.caption(_("Your text stays in this session; links do not include it."))
        return
    said = _("The text has {n:,} characters; the last tenth is held out for validation.")
    st.caption(said.format(n=len(corpus.text)))
    for each in corpus.notes:
        st.caption(say_fault(each))


def _read_uploaded() -> None:
    file = shown_by("uploaded_text")
    if file is not None:
        _read(file.getvalue())


def _read_pasted() -> None:
    if pasted := shown_by("pasted_text"):
        _read(pasted.encode("utf-8", errors="replace"))


def _read(raw: bytes) -> None:
    FAULTS.keep(())
    try:
        corpus = corpus_from_bytes(raw, most_characters=settings.corpus_characters())
    except ConfigError as error:
        FAULTS.keep(error.faults)
        return
    TEXT.keep(corpus)
