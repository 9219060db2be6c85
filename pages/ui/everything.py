"""Everything on a page: panel by panel, and as one file to hand in."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import datetime
from urllib.parse import urlsplit

import streamlit as st

from blocks.model.faults import N_
from pages.ui import link, page_file, pasted, present, share
from pages.ui.language import _
from pages.ui.seen import Node, noted

ALL = "all"  # in the link, in the place of a panel
ABOUT = ("preset", "weights", "mask_kind", "seed", "device", "dtype")
MEGABYTE = 1e6
WHAT_IT_HOLDS = N_(
    "Saves all panels as shown here, with settings, input, seed and link, to one file that "
    "opens offline."
)
Draw = Callable[[], Callable[[], None] | None]


def is_all() -> bool:
    """Whether all panels stand one below the other."""
    return link.value("panel") == ALL and not present.is_on()


def in_turn(panels: Sequence[tuple[str, str, Draw]]) -> list[Callable[[], None]]:
    """Draw one panel after the other, saying which; returns what goes on once all of them stand.

    `panels`: the title of each, the anchor that leads to it, and what draws it.
    """
    is_asked = st.session_state.pop("one_file_asked", False)
    place, bar, goes_on, seen = st.container(), st.empty(), [], []
    for i, (title, anchor, draw) in enumerate(panels):
        text = _("Panel {n} of {all}: {title}")
        bar.progress(i / len(panels), text.format(n=i + 1, all=len(panels), title=title))
        panel = page_file.Panel(title, Node())
        st.subheader(title, anchor=anchor)
        with noted(panel.seen) if is_asked else nullcontext():
            goes_on.append(draw())
        seen.append(panel)
    bar.empty()
    with place.container(horizontal=True, vertical_alignment="center", key="one_file_row"):
        if is_asked:
            _offer(seen)
        _ask(is_asked)
    return [each for each in goes_on if each]


def _ask(is_again: bool) -> None:
    st.button(
        _("Export again") if is_again else _("Export everything to one file"),
        icon=":material/description:",
        help=_(WHAT_IT_HOLDS),
        on_click=_asked,
        key="one_file_ask",
    )


def _asked() -> None:
    st.session_state["one_file_asked"] = True


def _offer(panels: Sequence[page_file.Panel]) -> None:
    """The file, of the page as it stands now; how large it is, and when it was made."""
    made = datetime.now().astimezone()
    written = page_file.page_file(_head(made), panels).encode("utf-8", "replace")
    name = urlsplit(st.context.url or "").path.strip("/") or "page"
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


def _head(made: datetime) -> page_file.Head:
    config = {name: value for name, value in link.config().flat().items() if value is not None}
    found = {name: link.value(name) for name in ABOUT} | config | _set_here()
    found["preset"] = pasted.called(found["preset"])
    settings = [(name, str(value)) for name, value in found.items()]
    text = link.value("text") if link.value("input_kind") != "random" else ""
    title = _(st.session_state.get("title", ""))
    return page_file.Head(title, share.whole_link(), made, text, settings)
