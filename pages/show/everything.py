"""Everything on a page: panel by panel, and as one file to hand in."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import datetime
from urllib.parse import urlsplit

import streamlit as st

from blocks.model.faults import N_
from pages.server import address, pasted
from pages.session.slot import Slot
from pages.show import page_file, share
from pages.show.seen import Node, noted
from pages.show.share import ALL
from pages.stage import lecture, link, present
from pages.words.language import _

ABOUT = ("preset", "weights", "mask_kind", "seed", "device", "dtype")
MEGABYTE = 1e6
WHAT_IT_HOLDS = N_(
    "This makes one file that opens offline. It contains the questions, pictures, findings, "
    "explanations and formulas as shown here, with the settings, input, seed and link."
)
ASKED = Slot("one_file_asked", False)
OF_LECTURE = Slot("lecture_handed_out", b"")  # a handout of it, until it is taken
Draw = Callable[[], Callable[[], None] | None]
Parts = Callable[[], Iterable[page_file.Part]] | None


def is_all() -> bool:
    return link.value("panel") == ALL and not present.is_on()


def in_turn(panels: Sequence[tuple[str, Draw, page_file.Panel]]) -> list[Callable[[], None]]:
    """Draw one panel after the other, saying which; returns what goes on once all of them stand.

    `panels`: the anchor that leads to each, what draws it, and what a file has of it.
    """
    place, bar, goes_on, seen = st.container(), st.empty(), [], []
    for i, (anchor, draw, panel) in enumerate(panels):
        text = _("Panel {n} of {all}: {title}")
        bar.progress(i / len(panels), text.format(n=i + 1, all=len(panels), title=panel.title))
        st.subheader(panel.title, anchor=anchor)
        with seen_if_asked(panel):
            goes_on.append(draw())
        seen.append(panel)
    bar.empty()
    with place:
        handout(seen)
    return [each for each in goes_on if each]


@contextmanager
def seen_if_asked(panel: page_file.Panel) -> Iterator[None]:
    """A panel as it is declared, or what is drawn of it where a handout is asked for."""
    is_noted = panel.parts is None and ASKED.get()
    with noted(panel.seen) if is_noted else nullcontext():
        yield


def handout(panels: Sequence[page_file.Panel]) -> None:
    """The way to one file of these panels, or of those among them that are chosen."""
    is_asked = ASKED.take()
    with st.container(horizontal=True, vertical_alignment="bottom", key="one_file_row"):
        chosen = _chosen(panels) if len(panels) > 1 else panels
        if is_asked:
            _offer(chosen)
        _ask(is_asked)


def collect(draw: Draw, parts: Parts, before: str) -> None:
    """Note this panel for the handout of a lecture, and go on; after the last the file is made.

    `before`: what is read first.
    """
    steps, found = lecture.steps(), lecture.COLLECTED.get() or ()
    at, title = len(found), steps[len(found)].title
    text = _("Panel {n} of {all}: {title}").format(n=at + 1, all=len(steps), title=title)
    st.progress(at / len(steps), text)
    ASKED.keep(True)
    panel = page_file.Panel(title, Node(), parts)
    with seen_if_asked(panel):
        if parts is None:
            draw()
    ASKED.take()
    label, whole = _("Open this panel"), share.whole_link()
    way = address.way_on_this_machine(whole) or f"[{label}]({whole})"
    own = [page_file.Part("caption", way)]
    own += [page_file.Part("markdown", before), *(parts() or () if parts else ())]
    found = (*found, panel._replace(parts=lambda: own))
    if at + 1 < len(steps):
        lecture.COLLECTED.keep(found)
        lecture.begin(at + 1)
    else:
        lecture.COLLECTED.take()
        lecture.end()
        made = datetime.now().astimezone()
        head = page_file.Head(_("My lecture"), lecture.whole_link(), made, "", ())
        OF_LECTURE.keep(page_file.page_file(head, found).encode("utf-8", "replace"))
    st.rerun(scope="app")


def offer_of_lecture() -> None:
    """The handout of a lecture, where it was just made."""
    if written := OF_LECTURE.get():
        st.download_button(
            _("Handout of my lecture, {size:.1f} MB").format(size=len(written) / MEGABYTE),
            written,
            file_name="blockscope-lecture.html",
            mime="text/html",
            icon=":material/download:",
            on_click=_forget_of_lecture,
            type="primary",
            key="lecture_file",
        )


def _forget_of_lecture() -> None:
    OF_LECTURE.take()


def _chosen(panels: Sequence[page_file.Panel]) -> Sequence[page_file.Panel]:
    """Those that the reader has chosen; all of them before."""
    found = st.multiselect(
        _("Panels of the handout"),
        range(len(panels)),
        format_func=lambda i: panels[i].title,
        placeholder=_("all"),
        key=f"one_file_panels_{_page()}",
    )
    return [panels[i] for i in sorted(found)] or panels


def _page() -> str:
    return urlsplit(st.context.url or "").path.strip("/") or "page"


def _ask(is_again: bool) -> None:
    st.button(
        _("Make it again") if is_again else _("Make a handout"),
        icon=":material/description:",
        help=_(WHAT_IT_HOLDS),
        on_click=_asked,
        key="one_file_ask",
    )


def _asked() -> None:
    ASKED.keep(True)


def _offer(panels: Sequence[page_file.Panel]) -> None:
    """The file, of the page as it stands now; how large it is, and when it was made."""
    made = datetime.now().astimezone()
    reads_input = any(panel.reads_input for panel in panels)
    head = _head(made, reads_input=reads_input)
    written = page_file.page_file(head, panels).encode("utf-8", "replace")
    name = _page()
    st.download_button(
        f"blockscope-{name}.html",
        written,
        file_name=f"blockscope-{name}.html",
        mime="text/html",
        icon=":material/download:",
        on_click="ignore",
        type="primary",
        key="one_file",
    )
    text = _("{size:.1f} MB, created at {time}; later changes are not included.")
    st.caption(text.format(size=len(written) / MEGABYTE, time=f"{made:%H:%M}"))


def _set_here() -> dict[str, object]:
    return {name: link.value(name) for name in link.here()}


def _head(made: datetime, *, reads_input: bool) -> page_file.Head:
    config = {name: value for name, value in link.config().flat().items() if value is not None}
    found = {name: link.value(name) for name in ABOUT} | config | _set_here()
    found["preset"] = pasted.called(found["preset"])
    settings = [(name, str(value)) for name, value in found.items()]
    is_text = reads_input and link.value("input_kind") != "random"
    text = link.value("text") if is_text else ""
    return page_file.Head(_(link.TITLE.get()), share.whole_link(), made, text, settings)
