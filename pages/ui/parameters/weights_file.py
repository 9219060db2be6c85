"""A model file that a reader uploads: its weights are counted once, and kept in this session."""

from typing import NamedTuple

import streamlit as st

from blocks import ModelConfig
from blocks.inspection.weight_values import WeightValues, values_by_kind
from blocks.model.faults import ConfigError
from blocks.model.models import parameter_names
from blocks.weights.model_file import Card, read_model_file
from pages.ui.language import _, literal, say_fault
from pages.ui.parameters import counted


class WeightsFile(NamedTuple):
    """What a file said of itself, and how its weights are spread."""

    name: str
    config: ModelConfig
    card: Card
    values: WeightValues


def upload() -> None:
    """The control, and what was wrong with the file."""
    st.file_uploader(
        _("Weights from a file: a .safetensors saved on the page Training"),
        ("safetensors",),
        key="uploaded_weights",
        on_change=_read_uploaded,
    )
    for fault in st.session_state.get("weights_file_faults", ()):
        st.error(say_fault(fault), icon=":material/block:")


def found() -> WeightsFile | None:
    """What this session brought, if it could be read."""
    return st.session_state.get("weights_file")


def sentence(file: WeightsFile) -> str:
    """What the file holds, as it says itself."""
    text = _("{name}: {n:,} weights, trained on {task} for {steps:,} steps, seed {seed}.")
    return text.format(
        name=literal(file.name),
        n=counted.total(file.config),
        task=literal(file.card.task),
        steps=file.card.n_steps,
        seed=file.card.seed,
    )


def _read_uploaded() -> None:
    st.session_state["weights_file"], st.session_state["weights_file_faults"] = None, ()
    file = st.session_state["uploaded_weights"]
    if file is None:
        return
    try:
        st.session_state["weights_file"] = _read(file.name, file.getvalue())
    except ConfigError as error:
        st.session_state["weights_file_faults"] = error.faults


def _read(name: str, raw: bytes) -> WeightsFile:
    file = read_model_file(raw)
    weights = ((path, file.tensors[path]) for path in parameter_names(file.config))
    return WeightsFile(name, file.config, file.card, values_by_kind(weights))
