"""A reader's own config.json: read, counted, and taken over as the model of all pages."""

import streamlit as st

from blocks.model.faults import N_, ConfigError, Fault
from blocks.observe.run import Run
from blocks.weights.config_families import FAMILIES
from blocks.weights.config_json import ConfigFile, read_config_file
from blocks.weights.config_keys import Keys
from pages.page.declared import Panel
from pages.page.frame import section
from pages.panels.parameters import shared
from pages.server import pasted
from pages.server.cached import count_facts
from pages.session.slot import Slot, shown_by
from pages.show.explain import explained, note
from pages.show.tables import show_table
from pages.show.ways import take
from pages.words.language import _, enumeration, literal, say_fault, sentences

FILE = Slot[ConfigFile | None]("config_file", None)
FAULTS = Slot[tuple[Fault, ...]]("config_file_faults", ())
NO_TEXT = Fault(N_("The file is not text: config.json must be UTF-8"))


def text_controls() -> None:
    """Paste or upload; what was wrong with it."""
    left, right = st.columns(2)
    with left:
        st.text_area(
            _("Paste a config.json"),
            key="pasted_config",
            height=150,
            on_change=_read_pasted,
            placeholder='{"model_type": "llama", "hidden_size": 4096, …}',
        )
    with right:
        st.file_uploader(
            _("… or upload a file"), ("json",), key="uploaded_config", on_change=_read_uploaded
        )
        with st.popover(_("Known families"), icon=":material/list:"):
            st.markdown(enumeration(FAMILIES))
    for fault in FAULTS.get():
        st.error(_said(fault), icon=":material/block:")


def found() -> ConfigFile | None:
    return FILE.get()


def take_over(file: ConfigFile) -> None:
    take({"preset": pasted.preset_of(file.name, file.config)})


def says_file(file: ConfigFile, n_parameters: int) -> str:
    """How many, and as which class."""
    text = _("The model has {total:,} learned parameters, counted as in transformers' {name}.")
    said = [text.format(total=n_parameters, name=literal(file.counted_as))]
    if file.n_fixed:
        text = _(
            "Including the {fixed:,} fixed numbers of the position tables, which are computed"
            " and never trained, num_parameters() gives {both:,}."
        )
        said.append(text.format(fixed=file.n_fixed, both=n_parameters + file.n_fixed))
    if file.around:
        text = _("Only the text model of this {around} file is counted.")
        said.append(text.format(around=literal(file.around)))
    others = [name for name in file.named if name != file.counted_as]
    if others:
        text = _("The file specifies {names}; the task head is not counted.")
        said.append(text.format(names=enumeration(map(literal, others[:3]))))
    return sentences(*said)


def says_assumed(file: ConfigFile) -> str:
    """What the file leaves out, and what is left aside."""
    said = []
    if file.assumed:
        text = _(
            "The file does not contain these settings, so the family's defaults are used: {names}."
        )
        names = enumeration(literal(f"{name} = {value}") for name, value in file.assumed)
        said.append(text.format(names=names))
    said.append(_("Dropout adds no parameters."))
    text = _("The Cost page counts the cache and the scores as if there were no window.")
    if file.config.local_window:
        text = _(
            "The Cost page counts the cache and the scores of {n} of {all} layers with a "
            "window of {window:,} tokens."
        )
    n_layers = file.config.n_layers
    said.append(
        text.format(n=file.config.n_local(n_layers), all=n_layers, window=file.config.local_window)
    )
    return sentences(*said)


def _said(fault: Fault) -> str:
    """Names and values are the file's: shown as they are."""
    values = {name: literal(str(value)) for name, value in fault.values.items()}
    return say_fault(Fault(fault.text, values))


def _read_uploaded() -> None:
    file = shown_by("uploaded_config")
    if file is None:
        return
    try:
        text = file.getvalue().decode("utf-8-sig")
    except UnicodeDecodeError:
        _keep(None, (NO_TEXT,))
        return
    _read(text)


def _read_pasted() -> None:
    text = shown_by("pasted_config")
    if text.strip():
        _read(text)
    else:
        _keep(None, ())


def _read(text: str) -> None:
    try:
        _keep(read_config_file(text), ())
    except ConfigError as error:
        _keep(None, error.faults)


def _keep(file: ConfigFile | None, faults: tuple[Fault, ...]) -> None:
    FILE.keep(file)
    FAULTS.keep(faults)


@section
def your_own_file(_run: Run) -> None:
    """A config.json, read, counted, and taken over by a button."""
    code = (read_config_file, Keys)
    with explained(("config_json",), code, key="config_file_story"):
        text_controls()
    file = found()
    if file is None:
        return
    facts = count_facts(file.config)
    with st.container(horizontal=True, vertical_alignment="center", key="config_file_count"):
        st.markdown(says_file(file, facts.total), width="stretch")
        st.button(
            _("Use this configuration"),
            icon=":material/edit:",
            type="primary",
            on_click=take_over,
            args=(file,),
            key="use_config_file",
        )
    note(says_assumed(file))
    show_table(shared.part_rows(facts), key="file_table", counts=[_("count")])


PANEL = Panel(
    "config-json",
    N_("Your config.json"),
    your_own_file,
    fields=("n_layers", "d_model", "n_heads", "n_kv_heads", "d_ff"),
)
