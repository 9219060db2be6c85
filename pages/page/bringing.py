"""The ways in which a reader brings a model: files, a folder of the server, the hub."""

from time import monotonic

import streamlit as st

from blocks import ConfigError, Fault
from blocks.cost.units import bytes_text
from blocks.weights.folder import GGUF
from blocks.weights.hub import HubModel
from blocks.weights.ledger import Ledger
from pages.figures.units import long_duration
from pages.server import address, brought
from pages.session.slot import Slot, shown_by
from pages.show.fold import fold
from pages.show.steps import is_touched
from pages.stage import link
from pages.stage.press import press
from pages.words.language import _, literal, say_fault

MOST_SAID = 3
FAULTS = Slot[tuple[Fault, ...]]("bring_faults", ())
REFUSED_LEDGER = Slot[Ledger | None]("refused_ledger", None)
HUB_FOUND = Slot[HubModel | None]("hub_found", None)


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
            hub_by_name("hub")
        say_faults()


def say_faults() -> None:
    for fault in FAULTS.get():
        st.error(say_fault(fault), icon=":material/block:")


def open_model(preset: str, text: str = "") -> None:
    """Start from what was brought, with this text where one is given, or say why not."""
    found = brought.find(preset)
    if found is not None and found.learned is not None:
        _note(())
        brought.remember(preset)
        link.change("preset", preset)
        if text:
            link.change("text", text)
    elif found is not None:
        _note(found.faults, found.ledger)


def _note(faults: tuple[Fault, ...], ledger: Ledger | None = None) -> None:
    """What was wrong with the files; their ledger, if it could be made, is kept for its panel."""
    FAULTS.keep(faults[:MOST_SAID])
    REFUSED_LEDGER.keep(ledger)


def _upload() -> None:
    st.file_uploader(
        _(
            "config.json, tokenizer.json and safetensors files (for a chat model, also "
            "tokenizer_config.json, chat_template.jinja and generation_config.json), one GGUF"
            " file, or one file saved by Blockscope"
        ),
        ("json", "jinja", "safetensors", "gguf"),
        accept_multiple_files=True,
        help=_(
            "The files stay on this server until it stops or needs the space; anyone with "
            "the link can open them. Nothing in them is executed."
        ),
        key="brought_files",
    )
    press(_("Open the files"), "take_in", _take_in, disabled=not Slot("brought_files", ()).get())


def _take_in() -> None:
    """Of files that come one by one, none is opened before the reader says that they are all."""
    try:
        open_model(brought.take_in(shown_by("brought_files")))
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
    if chosen := shown_by(key):
        open_model(chosen)


def hub_by_name(key: str) -> None:
    """Any model of the hub, where the reader knows its name."""
    label = _("A model on the Hugging Face Hub, as owner/model")
    if name := st.text_input(label, key=f"{key}_name").strip():
        from_hub(name, key=key)


def from_hub(name: str, *, key: str) -> None:
    """What there is to fetch of a model, the fetching, and the way to open what was fetched."""
    if preset := brought.from_the_hub(name):
        st.button(_("Open it"), on_click=open_model, args=(preset,), key=f"{key}_open")
        return
    st.button(_("Look it up"), on_click=_look_up, args=(name,), key=f"{key}_look_up")
    found = HUB_FOUND.get()
    if found is None or found.name != name:
        return
    st.caption(says_found(found))
    if st.button(_("Download and open"), icon=":material/download:", key=f"{key}_fetch"):
        _fetch(found, key)


def says_found(found: HubModel) -> str:
    """What would be fetched, and which of several GGUF files."""
    (first, _size), size = found.files[0], bytes_text(found.n_bytes)
    if first.endswith(GGUF):
        text = _("{name}: {file}, {size} to download.")
        return text.format(name=literal(found.name), file=literal(first), size=size)
    text = _("{name}: {n} files, {size} to download.")
    return text.format(name=literal(found.name), n=len(found.files), size=size)


def _look_up(name: str) -> None:
    _note(())
    HUB_FOUND.keep(None)
    try:
        HUB_FOUND.keep(brought.on_the_hub(name))
    except ConfigError as error:
        _note(error.faults)


def _fetch(found: HubModel, key: str) -> None:
    """Whatever is clicked, Stop or anything else, ends what is fetched here."""
    with st.container(horizontal=True, vertical_alignment="center"):
        bar = st.progress(0.0, " ")
        st.button(_("Stop"), icon=":material/stop:", key=f"{key}_stop")
    whole, start = max(1, found.n_bytes), monotonic()
    so_far: list[int] = []

    def said(n_bytes: int) -> None:
        if is_touched():
            raise _Stopped
        so_far.append(n_bytes)
        left = seconds_left(whole - n_bytes, n_bytes - so_far[0], monotonic() - start)
        bar.progress(min(1.0, n_bytes / whole), says_coming(n_bytes, whole, left))

    try:
        brought.fetch(found, said)
    except _Stopped:
        return
    except ConfigError as error:
        _say(error.faults)
        return
    open_model(brought.from_the_hub(found.name))
    st.rerun()


class _Stopped(BaseException):
    """The reader does something else."""


def seconds_left(n_missing: int, n_came: int, seconds: float) -> float | None:
    """How long the rest takes, where so many bytes came in these seconds; at least one second."""
    return max(1.0, round(seconds * n_missing / n_came)) if n_came and n_missing else None


def says_coming(now: int, whole: int, left: float | None) -> str:
    """How many bytes are there, and how many seconds are left, where that is known."""
    said = {"now": bytes_text(now), "all": bytes_text(whole)}
    if left is None:
        return _("{now} of {all}").format(**said)
    return _("{now} of {all} · about {left} left").format(left=long_duration(left, _=_), **said)


def _say(faults: tuple[Fault, ...]) -> None:
    for fault in faults:
        st.error(say_fault(fault), icon=":material/block:")


def refused_ledger() -> Ledger | None:
    """Of the files that this session brought last, where they made no model."""
    return REFUSED_LEDGER.get()
