"""Published models, counted to the last parameter, and a reader's own config.json."""

from typing import Any

import pandas as pd
import streamlit as st

from blocks import ModelConfig
from blocks.cost.parameters import count_parameters
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.kinds import Architecture
from blocks.model.presets import Preset
from blocks.observe.run import Run
from blocks.weights import config_json
from blocks.weights.config_json import FAMILIES, ConfigFile, read_config_file
from pages.figures.theme import Picture
from pages.panels.parameters import published_models_picture, shared
from pages.ui import link, starts, terms
from pages.ui.chart import show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, current_language, enumeration, literal, say_fault
from pages.ui.said import say
from pages.ui.weights import FREE_TO_CHANGE


def published() -> pd.DataFrame:
    """One row a model: name_, title, architecture, total, active."""
    found = shared.published()
    return pd.DataFrame(
        {
            "name_": [each.name for each in found],
            "title": [_(each.title) for each in found],
            "architecture": [str(each.config.architecture) for each in found],
            "total": [each.total for each in found],
            "active": [each.active for each in found],
        }
    )


def architectures() -> dict[str, str]:
    """What each architecture is called."""
    kinds = (Architecture.GPT, Architecture.ENCODER, Architecture.ENCODER_DECODER)
    return {str(kind): terms.option(kind) for kind in kinds}


def of_file(config: ModelConfig) -> None:
    """The parts of a config.json."""
    shared._shown(shared.part_frame(config), "file_table", _("count"))


def published_table() -> None:
    """Show the published models as a table."""
    shared._shown(
        shared.published_frame(), "published_table", _("parameters"), _("active per token")
    )


def published_sentence(config: ModelConfig) -> str:
    """Between which published models this one stands."""
    own = shared.total(config)
    below = [each for each in shared.published() if each.total < own]
    above = [each for each in shared.published() if each.total > own]
    same = [each for each in shared.published() if each.total == own]
    if same:
        text = _("As large as {title}, down to the last parameter.")
        return text.format(title=_(same[0].title))
    if below and above:
        text = _("Yours, {own:,}, lies between {below} and {above}.")
        return text.format(own=own, below=_(below[-1].title), above=_(above[0].title))
    text = _("Yours, {own:,}, is {times} times {title}, the largest here.")
    if not below:
        text = _("Yours, {own:,}, is {times} times {title}, the smallest here.")
    end = below[-1] if below else above[0]
    return text.format(own=own, times=f"{own / end.total:.2g}", title=_(end.title))


def published_alt(run: Run) -> str:
    """Write the alt text of the dots."""
    rows = "; ".join(f"{_(each.title)} {each.total:,}" for each in shared.published())
    text = _("Parameters of published models on a logarithmic axis: {rows}; yours {own:,}.")
    return text.format(rows=rows, own=shared.total(run.config))


def published_choice() -> None:
    """Take a published model as the one that all pages show."""
    titles = {each.name: _(each.title) for each in shared.published()}
    with st.container(horizontal=True, vertical_alignment="bottom", key="published_choice"):
        chosen = st.selectbox(
            _("Use a published model"),
            [*titles],
            format_func=titles.__getitem__,
            key=f"chosen_published_{current_language()}",
        )
        st.button(
            _("Use this model"),
            icon=":material/download_done:",
            on_click=take,
            args=([chosen],),
            key="take_published",
        )


def take(customdata: list[Any]) -> None:
    """A published model was chosen, or its dot clicked."""
    if starts.is_known(str(customdata[0])):
        link.change("preset", str(customdata[0]))
        link.redraw_everything()


NO_TEXT = Fault(N_("The file is not text: a config.json is UTF-8"))


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
        known = _("Known families: {names}.")
        st.caption(known.format(names=enumeration(FAMILIES)))
    for fault in st.session_state.get("config_file_faults", ()):
        st.error(_said(fault), icon=":material/block:")


def found() -> ConfigFile | None:
    """What this session brought, if it could be read."""
    return st.session_state.get("config_file")


def take_over(file: ConfigFile) -> None:
    """Make it the configuration of all pages: the nearest preset, and what differs from it."""
    name, changes = as_changes(file.config)
    link.change("preset", name)
    for field, value in changes.items():
        link.change(field, value)
    link.redraw_everything()


def as_changes(config: ModelConfig) -> tuple[str, dict[str, Any]]:
    """The preset of the same architecture that differs least, and how the file differs from it."""
    options = {
        name: _differences(starts.start(name).config, config)
        for name in starts.names_to_count()
        if starts.start(name).config.architecture is config.architecture
        and not starts.start(name).weights
    }
    name = min(options, key=lambda name: len(options[name]))
    return name, options[name]


def _differences(base: ModelConfig, config: ModelConfig) -> dict[str, Any]:
    """Fields by name; what follows from others is said, since a link has no word for nothing."""
    have, want = base.flat(), {**config.flat()}
    follows = {
        "n_kv_heads": config.n_kv_heads,
        "d_head": config.d_head,
        "d_ff": config.d_ff,
        "n_decoder_layers": config.n_decoder_layers,
        "out_bias": config.has_out_bias,
        "scale_embeddings": config.scales_embeddings,
    }
    found = {}
    for name, value in want.items():
        if name in FREE_TO_CHANGE or have[name] == value:
            continue
        found[name] = follows[name] if value is None else value
    return found


def sentence(file: ConfigFile) -> str:
    """How many, and as which class."""
    text = _("{total:,} parameters, counted as in transformers' {name}.")
    said = [text.format(total=shared.total(file.config), name=literal(file.counted_as))]
    others = [name for name in file.named if name != file.counted_as]
    if others:
        text = _("The file says {names}: its task head is not counted.")
        said.append(text.format(names=enumeration(map(literal, others[:3]))))
    return " ".join(said)


def config_note(file: ConfigFile) -> str:
    """What the file leaves out, and what is left aside."""
    said = []
    if file.assumed:
        text = _("Not in the file, so the family's default is used: {names}.")
        names = enumeration(literal(f"{name} = {value}") for name, value in file.assumed)
        said.append(text.format(names=names))
    said.append(
        _(
            "RoPE scaling, sliding windows and dropout change no parameter and are "
            "ignored here: Cost counts the cache and the scores without a window."
        )
    )
    return " ".join(said)


def _said(fault: Fault) -> str:
    """Names and values are the file's: shown as they are."""
    values = {name: literal(str(value)) for name, value in fault.values.items()}
    return say_fault(Fault(fault.text, values))


def _read_uploaded() -> None:
    file = st.session_state["uploaded_config"]
    if file is None:
        return
    try:
        text = file.getvalue().decode("utf-8-sig")
    except UnicodeDecodeError:
        _keep(None, (NO_TEXT,))
        return
    _read(text)


def _read_pasted() -> None:
    text = st.session_state["pasted_config"]
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
    st.session_state["config_file"] = file
    st.session_state["config_file_faults"] = faults


@section
def what_others_have(run: Run) -> None:
    """A dot a model, the table with sources; a click takes the model."""
    code = (count_parameters, Preset)
    with explained(("published_models",), code, key="published_story"):
        say(published_sentence, run.config)
    alt = published_alt
    show(draw_published, run, key="published", alt=alt, on_click=take)
    published_choice()
    with st.expander(_("Table with sources"), icon=":material/table:"):
        published_table()
    note(
        _(
            "Counted by formula; where a model's weights are published, tests check the "
            "count against them and against transformers. BERT and BART without a "
            "language-modeling head, BERT with its pooler. Vaswani et al. 2017 state 65 "
            "and 213 million, with about 37,000 tokens."
        )
    )


@section
def your_own_file(run: Run) -> None:
    """A config.json, read, counted, and taken over by a button."""
    code = (config_json.read_config_file, config_json.Keys)
    with explained(("config_json",), code, key="config_file_story"):
        text_controls()
    file = found()
    if file is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="config_file_count"):
        st.markdown(sentence(file), width="stretch")
        st.button(
            _("Use this configuration"),
            icon=":material/edit:",
            type="primary",
            on_click=take_over,
            args=(file,),
            key="use_config_file",
        )
    note(config_note(file))
    of_file(file.config)


def draw_published(run: Run) -> Picture:
    """A dot a model, and a line where the reader's stands."""
    table, names = published(), architectures()
    own = shared.total(run.config)
    return published_models_picture.dots(table, names, own=own, own_label=_("yours"), _=_)
