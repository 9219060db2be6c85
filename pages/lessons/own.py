"""A lesson that a reader brings as a file: text only, checked, and played in this session alone."""

from collections.abc import Iterable

import streamlit as st

from blocks import ConfigError, Fault
from blocks.lessons import reading
from blocks.lessons.lesson import Lesson
from blocks.model.faults import N_
from pages.lessons import linted
from pages.stage import link, progress
from pages.words.language import _, current_language, literal, say_fault

MOST_SAID, MOST_BYTES = 5, 4 * reading.LONGEST  # a character has at most four
TOO_LARGE = N_("A lesson file may be at most {most:,} bytes long; this one has {n:,}")


def way_to_bring() -> None:
    """Where a file is given, what is wrong with it, and the way in."""
    file = st.file_uploader(
        _("A lesson as a Markdown file"),
        ("md",),
        max_upload_size=1,
        help=_(
            "The file is text only: nothing in it runs except the measurements it names. It "
            "stays in this session, and nobody else sees it."
        ),
        key="own_lesson_file",
    )
    if file is None:
        return
    try:
        found = read(file.getvalue())
    except ConfigError as error:
        _refuse(map(_said, error.faults))
        return
    wrong = [*linted.linted(found)]
    if wrong:
        text = _("Line {line}, {where}: {what}")
        _refuse(text.format(line=s.line, where=literal(s.title), what=_said(f)) for s, f in wrong)
        return
    progress.BROUGHT_LESSON.keep(found)
    path, query = progress.way_in(found)
    st.page_link(path, label=found.title, icon=":material/school:", query_params=query)


def note_what_is_gone() -> None:
    """Say where the lesson is that a link names and this session has not."""
    if (name := link.value("lesson")) and not progress.is_gone():
        text = _("There is no lesson {name} here. Home lists all lessons under *Take a lesson*.")
        st.info(text.format(name=literal(name)), icon=":material/link_off:")
    if progress.is_gone():
        text = _(
            "This lesson came from a file, which is kept for one session only. Open it again "
            "from Home: Take a lesson → Bring your own lesson."
        )
        st.info(text, icon=":material/upload_file:")


def read(content: bytes) -> Lesson:
    """The lesson of a file. Raises `ConfigError` with every fault."""
    if len(content) > MOST_BYTES:
        raise ConfigError([Fault(TOO_LARGE, {"most": MOST_BYTES, "n": len(content)})])
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError([Fault(reading.NOT_UTF_8)]) from None
    return reading.read(text, id=progress.BROUGHT, language=current_language())


def _said(fault: Fault) -> str:
    """What is wrong; words of the file stand in it as text."""
    values = {n: literal(v) if isinstance(v, str) else v for n, v in fault.values.items()}
    return say_fault(Fault(fault.text, values))


def _refuse(faults: Iterable[str]) -> None:
    """The first of them, as text."""
    said = [*faults]
    for each in said[:MOST_SAID]:
        st.error(each, icon=":material/block:")
    if len(said) > MOST_SAID:
        st.caption(_("and {n} more").format(n=len(said) - MOST_SAID))
