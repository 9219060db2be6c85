"""The ways in which a reader brings a model: files, a folder of the server, the hub."""

import streamlit as st

from blocks import ConfigError, Fault
from blocks.cost.units import bytes_text
from blocks.weights.hub import HubModel
from blocks.weights.ledger import Ledger
from pages.ui import address, brought, link
from pages.ui.fold import fold
from pages.ui.language import _, literal, say_fault

MOST_SAID = 3


def fold_of_ways() -> None:
    """One line in the sidebar that opens."""
    place = fold(
        _("Bring your own weights"), key="bring", icon=":material/upload_file:", type="compact"
    )
    if not place.open:
        return
    with place:
        _upload()
        if names := (*brought.folders(), *brought.on_this_machine()):
            choose(names)
        if address.serves_one_person():
            _hub()
        say_faults()


def say_faults() -> None:
    """Why what was brought last makes no model."""
    for fault in st.session_state.get("bring_faults", ()):
        st.error(say_fault(fault), icon=":material/block:")


def _open(preset: str) -> None:
    """Start from what was brought, or say why not."""
    found = brought.find(preset)
    if found is not None and found.learned is not None:
        _note(())
        brought.remember(preset)
        link.change("preset", preset)
    elif found is not None:
        _note(found.faults, found.ledger)


def _note(faults: tuple[Fault, ...], ledger: Ledger | None = None) -> None:
    """What was wrong with the files; their ledger, if it could be made, is kept for its panel."""
    st.session_state["bring_faults"] = faults[:MOST_SAID]
    st.session_state["refused_ledger"] = ledger


def _upload() -> None:
    st.file_uploader(
        _(
            "config.json, tokenizer.json and safetensors files, one GGUF file, or one file saved "
            "by Blockscope"
        ),
        ("json", "safetensors", "gguf"),
        accept_multiple_files=True,
        help=_(
            "The files stay on this server until it stops or needs the space; anyone with "
            "the link can open them. Nothing in them is executed."
        ),
        key="brought_files",
    )
    st.button(
        _("Open the files"),
        disabled=not st.session_state.get("brought_files"),
        on_click=_take_in,
        key="take_in",
    )


def _take_in() -> None:
    """Of files that come one by one, none is opened before the reader says that they are all."""
    try:
        _open(brought.take_in(st.session_state["brought_files"]))
    except brought.RefusedError as error:
        _note(error.faults, error.ledger)
    except ConfigError as error:
        _note(error.faults)


def choose(names: tuple[str, ...], *, key: str = "brought_folder") -> None:
    """One of the models on this server, which opens where it is chosen."""
    st.selectbox(
        _("A model on this server"),
        names,
        index=None,
        format_func=lambda name: name.partition(":")[2],
        placeholder=_("Choose"),
        key=key,
        on_change=_open_chosen,
        args=(key,),
    )


def _open_chosen(key: str) -> None:
    if chosen := st.session_state[key]:
        _open(chosen)


def _hub() -> None:
    name = st.text_input(
        _("A model on the Hugging Face Hub, as owner/model"), key="hub_name"
    ).strip()
    if name:
        from_hub(name)


def from_hub(name: str, *, key: str = "hub") -> None:
    """What there is to fetch of a model, the fetching, and the way to open what was fetched."""
    if brought.is_here(brought.HUB + name):
        st.button(_("Open it"), on_click=_open, args=(brought.HUB + name,), key=f"{key}_open")
        return
    st.button(_("Look it up"), on_click=_look_up, args=(name,), key=f"{key}_look_up")
    found: HubModel | None = st.session_state.get("hub_found")
    if found is None or found.name != name:
        return
    text = _("{name}: {n} files, {size} to fetch.")
    st.caption(text.format(name=literal(name), n=len(found.files), size=bytes_text(found.n_bytes)))
    if st.button(_("Fetch and open"), icon=":material/download:", key=f"{key}_fetch"):
        _fetch(found, key)


def _look_up(name: str) -> None:
    _note(())
    st.session_state["hub_found"] = None
    try:
        st.session_state["hub_found"] = brought.on_the_hub(name)
    except ConfigError as error:
        _note(error.faults)


def _fetch(found: HubModel, key: str) -> None:
    """Any click, the one on Stop too, ends this run of the page and what it fetches."""
    st.button(_("Stop"), icon=":material/stop:", key=f"{key}_stop")
    bar, whole = st.progress(0.0), max(1, found.n_bytes)
    try:
        for n_bytes in brought.fetch(found):
            text = _("{now} of {all}").format(now=bytes_text(n_bytes), all=bytes_text(whole))
            bar.progress(min(1.0, n_bytes / whole), text)
    except ConfigError as error:
        _say(error.faults)
        return
    _open(brought.HUB + found.name)
    st.rerun()


def _say(faults: tuple[Fault, ...]) -> None:
    for fault in faults:
        st.error(say_fault(fault), icon=":material/block:")


def refused_ledger() -> Ledger | None:
    """Of the files that this session brought last, where they made no model."""
    return st.session_state.get("refused_ledger")
