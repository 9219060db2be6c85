"""The weights themselves: how they are spread, by kind."""

from math import isfinite
from typing import NamedTuple

import pandas as pd
import streamlit as st

from blocks import ModelConfig
from blocks.cost.breakdown import Kind
from blocks.cost.fitting import MOST_BUILT, can_build
from blocks.cost.memory import bytes_text
from blocks.inspection import weight_values as measures
from blocks.inspection.weight_values import N_BINS, WeightValues, values_by_kind
from blocks.model import devices
from blocks.model.faults import ConfigError
from blocks.model.models import parameter_names
from blocks.observe.run import Run
from blocks.weights.model_file import Card, read_model_file
from pages.figures.table_rows import Row, each_row
from pages.figures.theme import Picture
from pages.panels.parameters import shared, weight_values_picture
from pages.ui import terms
from pages.ui.chart import show, show_now
from pages.ui.controls import switch
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, literal, say_fault
from pages.ui.numbers import percent
from pages.ui.settings import memory_budget


def moments_frame(found: pd.DataFrame) -> pd.DataFrame:
    """Moments of each kind with what it is called."""
    return found.assign(label=[shared.kind_name(kind) for kind in found["kind"]])


def moments_table(found: pd.DataFrame, *, key: str) -> None:
    """How the weights of each kind are spread."""
    shown = pd.DataFrame(
        {
            _("kind"): [shared.kind_name(kind) for kind in found["kind"]],
            _("count"): found["count"],
            _("mean"): found["mean"].map(_digits),
            "σ": found["std"].map(_digits),
            _("min"): found["min"].map(_digits),
            _("max"): found["max"].map(_digits),
            _("beyond 5 σ"): found["outside"],
        }
    )
    shared._shown(shown, key, _("count"), _("beyond 5 σ"))


def _digits(value: float) -> str:
    """Four digits, or in words where a weight is no number."""
    return f"{value:.4g}" if value - value == 0 else _("not finite")


def values_sentence(run: Run, moments: pd.DataFrame) -> str:
    """Where weights spread most and least, and what they are."""
    rows = moments[moments["kind"] != Kind.NORM].dropna()
    said = [_whose(run)]
    if len(rows) > 1:
        widest, narrowest = rows.iloc[rows["std"].argmax()], rows.iloc[rows["std"].argmin()]
        text = _(
            "The widest distribution is that of {wide} (σ = {most:.3g}), the narrowest "
            "that of {narrow} ({least:.3g})."
        )
        ends = {
            "wide": shared.kind_name(widest["kind"]),
            "narrow": shared.kind_name(narrowest["kind"]),
        }
        said.append(text.format(**ends, most=widest["std"], least=narrowest["std"]))
    tails = rows[rows["outside"] > 0]
    if len(tails):
        share = tails["outside"].sum() / rows["count"].sum()
        said.append(
            _("{n:,} values ({share}) lie beyond 5 σ; the table lists the largest.").format(
                n=int(tails["outside"].sum()), share=percent(share)
            )
        )
    return " ".join(said)


def _whose(run: Run) -> str:
    if run.weights:
        return _("The weights are trained.")
    text = _("The weights are random: {how}, seed {seed}.")
    return text.format(how=terms.option(run.config.initialization), seed=run.seed)


def too_large_text(run: Run) -> str:
    """Why the weights are not drawn here, with the numbers; nothing where they can be."""
    if not can_build(run.config):
        text = _(
            "To inspect the values the model must be built, and more than {most} "
            "layers, counting every expert, are not built here. Choose fewer layers."
        )
        return text.format(most=MOST_BUILT)
    need, budget = shared.need(run), memory_budget()
    if need <= budget:
        return ""
    text = _(
        "To inspect the values the model must be built, which takes {need}, more than "
        "the {budget} allowed here. Choose a smaller model, or fewer layers."
    )
    return text.format(need=bytes_text(need), budget=bytes_text(budget))


def building_note(run: Run) -> str:
    """Why a large model waits for the reader."""
    text = _("This first samples {n:,} weights ({size}) and takes a moment.")
    n = shared.total(run.config)
    return text.format(n=n, size=bytes_text(n * devices.DTYPES[run.dtype].itemsize))


def values_note(run: Run) -> str:
    """How it was counted."""
    text = _(
        "Every weight is counted, on {device}, in {bins} bins over the range of values, "
        "at most 5 σ from the mean; solid: mean, dotted: ±σ (standard deviation)."
    )
    return text.format(device=devices.device_name(run.device), bins=N_BINS)


def values_alt(run: Run) -> str:
    """Write the alt text of the histograms."""
    return spread_alt(shared.values(run).moments)


def spread_alt(moments: pd.DataFrame) -> str:
    """Write the alt text of mean and σ of each kind."""
    rows = "; ".join(f"{shared.kind_name(row.kind)} {_spread(row)}" for row in each_row(moments))
    return _("Distribution of the weights, mean ± σ by kind: {rows}.").format(rows=rows)


def _spread(row: Row) -> str:
    return f"{row.mean:.3g} ± {row.std:.3g}" if isfinite(row.std) else _("not finite")


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
        n=shared.total(file.config),
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


@section
def how_they_are_spread(run: Run) -> None:
    """Histograms of the weights; a large model is built when the reader asks."""
    place = explained(("weight_values",), (measures.weight_values,), key="values_story")
    if too_large := too_large_text(run):
        place.info(too_large, icon=":material/block:")
        return
    if not shared.is_small(run):
        note(building_note(run))
        switch("spread_of_weights", _("Build it and inspect its weights"))
    if not shared.is_shown(run):
        return
    try:
        with st.spinner(_("Drawing and counting the weights …"), show_time=True):
            found = shared.values(run)
    except ConfigError as error:
        st.warning(say_fault(error.faults[0]), icon=":material/block:")
        return
    place.info(values_sentence(run, found.moments), icon=":material/lightbulb:")
    if found.is_finite:
        show(draw_values, run, key="weight_values", alt=values_alt)
    moments_table(found.moments, key="moment_table")
    note(values_note(run))


@section
def those_of_a_file() -> None:
    """Weights of an uploaded file, below those of the page."""
    upload()
    file = found()
    if file is None:
        return
    st.info(sentence(file), icon=":material/description:")
    moments = moments_frame(file.values.moments)
    picture = weight_values_picture.panels(file.values.bins, moments, _=_)
    show_now(picture, key="file_values", alt=spread_alt(moments))
    moments_table(file.values.moments, key="file_moment_table")


def draw_values(run: Run) -> Picture:
    """A panel for each kind."""
    found = shared.values(run)
    return weight_values_picture.panels(found.bins, moments_frame(found.moments), _=_)
