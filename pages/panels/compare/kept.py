"""The list of what is kept: names, which is A, files out and in."""

from functools import partial

import streamlit as st

from blocks import Fault
from blocks.cost.summary import Summary
from blocks.cost.units import bytes_text
from pages.panels.compare import measures
from pages.panels.compare.files import UnreadableFileError, as_csv, as_toml, from_toml
from pages.panels.cost.shared import format_name
from pages.session.slot import Slot, shown_by
from pages.show import beside
from pages.show.explain import explained
from pages.show.export import download
from pages.stage import kept
from pages.stage.press import press
from pages.state.link_fields.compare import LONGEST_NAME, MOST_KEPT, Kept
from pages.state.values import State
from pages.words.language import _, say_fault

UPLOAD, FAULT = "kept_file", Slot[Fault | None]("kept_file_fault", None)


def says_counts(found: Summary, weight_format: str) -> str:
    """How large a configuration is."""
    text = _("{total:,} parameters · {memory} of weights in {weight_format}")
    memory = bytes_text(found.weight_bytes)
    name = format_name(weight_format)
    return text.format(total=found.parameters, memory=memory, weight_format=name)


def what_is_kept(state: State) -> None:
    """Names, which is A, what is B; files out and in."""
    place, entries = explained(("comparing",), key="kept_list"), kept.all_kept()
    if entries:
        text = _("Kept configurations: {n} of at most {most}, all stored in this page's link.")
        place.caption(text.format(n=len(entries), most=MOST_KEPT))
        counted = state.context_len, state.weight_format
        for i, entry in enumerate(entries):
            run = beside.run_as_it_is(entry)
            found = measures.summary(run.config, run.weights, *counted)
            row(i, entry, says_counts(found, counted[1]))
        keep_and_swap(is_full=len(entries) >= MOST_KEPT)
        with st.container(horizontal=True):
            download("kept.csv", lambda: as_csv(entries, *counted), "text/csv")
            download("kept.toml", lambda: as_toml(entries), "application/toml")
    else:
        place.caption(
            _(
                "Nothing is kept yet: click “Compare” and then “Keep as A” on any page to "
                "keep the current settings."
            )
        )
    with st.expander(_("Import a saved list"), icon=":material/upload:"):
        file_in()


def row(i: int, entry: Kept, counts: str) -> None:
    """One configuration: its name, how large it is, and what can be done with it."""
    key, is_a = f"kept_name_{i}", i == kept.index()
    with st.container(horizontal=True, vertical_alignment="center", key=f"kept_row_{i}"):
        Slot(key, "").keep(entry.name)
        st.text_input(
            _("Name of configuration {n}").format(n=i + 1),
            max_chars=LONGEST_NAME,
            key=key,
            on_change=lambda: kept.rename(i, shown_by(key)),
            label_visibility="collapsed",
            width=230,
        )
        st.markdown(counts, width="stretch")
        said, on_click = _("Current A") if is_a else _("Set as A"), partial(kept.choose, i)
        st.button(said, key=f"kept_a_{i}", on_click=on_click, disabled=is_a)
        st.button(_("Set as B"), key=f"kept_b_{i}", on_click=kept.take, args=(i,))
        icon, on_click = ":material/delete:", partial(kept.drop, i)
        st.button(_("Remove"), icon=icon, key=f"kept_drop_{i}", on_click=on_click)


def keep_and_swap(*, is_full: bool) -> None:
    """What can be done with A and B from this page."""
    with st.container(horizontal=True, vertical_alignment="center"):
        press(
            _("Add B to the list"),
            "keep_b",
            kept.keep_in_list,
            icon="bookmark_add",
            disabled=is_full,
        )
        press(_("Swap A and B"), "swap_here", kept.swap, icon="swap_horiz")


def file_in() -> None:
    """A list that was taken along, back again; what is wrong with a file is said."""
    st.file_uploader(
        _("A list saved as TOML"), type="toml", key=UPLOAD, on_change=_uploaded, max_upload_size=1
    )
    fault = FAULT.take()
    if fault is not None:
        st.error(say_fault(fault), icon=":material/block:")


def _uploaded() -> None:
    found = shown_by(UPLOAD)
    if found is None:
        return
    try:
        kept.add(from_toml(found.getvalue()))
    except UnreadableFileError as error:
        FAULT.keep(error.fault)
