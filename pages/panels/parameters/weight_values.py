"""The weights themselves: how they are spread, by kind."""

from functools import lru_cache
from typing import NamedTuple

import pandas as pd
import streamlit as st

from blocks import ModelConfig
from blocks.cost.fitting import MOST_BUILT, can_build
from blocks.cost.memory import Memory, estimate_memory
from blocks.cost.parameters import total_parameters
from blocks.cost.units import bytes_text
from blocks.inspection import weight_values as measures
from blocks.inspection.weight_values import N_BINS, ValueFacts, WeightValues, values_by_kind
from blocks.model import devices
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.models import parameter_names
from blocks.observe.run import Run
from blocks.weights.model_file import Card, read_model_file
from pages.figures.theme import Picture, Translate
from pages.page.declared import Panel
from pages.page.frame import must_have, section
from pages.panels.parameters import shared, weight_values_picture
from pages.server import cached
from pages.server.brought import whose_weights
from pages.server.settings import memory_budget
from pages.session.slot import Slot, shown_by
from pages.show.chart import show, show_now
from pages.show.controls import switch
from pages.show.explain import explained, note
from pages.show.parts import File, Matrix
from pages.show.said import say
from pages.show.tables import show_table
from pages.state.values import State
from pages.words import terms
from pages.words.language import _, literal, say_fault, sentences
from pages.words.numbers import percent

BUILT_UNASKED = 30_000_000


@lru_cache(maxsize=8)
def value_facts(run: Run, is_wanted: bool) -> ValueFacts:
    """How the weights of this run are spread. Runs that differ in their input share the model.

    Raises ValueError where they are not to be looked at.
    """
    if not is_shown(run, is_wanted):
        raise ValueError("too large, or large and not asked for")
    model = cached.model(run)
    with cached.turn(run.device):
        return measures.value_facts(run, model)


def is_shown(run: Run, is_wanted: bool) -> bool:
    """Whether the weights are looked at: they fit, and are few or were asked for."""
    fits = can_build(run.config) and need(run).total <= memory_budget(run.device)
    return fits and (is_wanted or is_small(run))


def is_small(run: Run) -> bool:
    """Whether the weights are so few that nobody needs to ask for them."""
    return total_parameters(run.config) <= BUILT_UNASKED


def need(run: Run) -> Memory:
    """Bytes while the model is built: its weights, and what drawing them takes meanwhile."""
    dtype = devices.DTYPES[run.dtype]
    return estimate_memory(run.config, batch=1, seq_len=1, dtype=dtype)


def says_values(facts: ValueFacts) -> str:
    """What the weights are, where they spread most and least, and how many lie far out."""
    said = [whose_weights(facts.weights)]
    if facts.seed is not None:
        text = _("The weights are random: {how}, seed {seed}.")
        said = [text.format(how=terms.option(facts.initialization), seed=facts.seed)]
    found = facts.values
    if len(found.by_width) > 1:
        narrow, wide = found.by_width.iloc[0], found.by_width.iloc[-1]
        text = _(
            "The widest distribution is that of {wide} (σ = {most:.3g}), the narrowest "
            "that of {narrow} ({least:.3g})."
        )
        names = {"wide": shared.kind_name(wide["kind"]), "narrow": shared.kind_name(narrow["kind"])}
        said.append(text.format(**names, most=wide["std"], least=narrow["std"]))
    if found.n_outside:
        text = _("Values beyond 5 σ: {n:,} ({share}); the table shows the minimum and maximum.")
        said.append(text.format(n=found.n_outside, share=percent(found.share_outside)))
    return sentences(*said)


def says_too_large(run: Run, budget: int) -> str:
    """Why the weights are not looked at here, with the numbers; nothing where they can be."""
    if not can_build(run.config):
        return _(
            "Inspecting the values requires building the model, but models of more than "
            "{most} layers (each expert counted as a layer) are not built here. Choose fewer "
            "layers."
        ).format(most=MOST_BUILT)
    if need(run).total <= budget:
        return ""
    return _(
        "Inspecting the values requires building the model, which takes {need}, more than the"
        " {budget} allowed here. Choose a smaller model, or fewer layers."
    ).format(need=bytes_text(need(run).total), budget=bytes_text(budget))


def says_building(run: Run) -> str:
    """Why a large model waits for the reader."""
    text = _("Building the model draws {n:,} random weights ({size}) and takes a moment.")
    if run.weights:
        text = _("Going through the {n:,} trained weights ({size}) takes a moment.")
    size = bytes_text(need(run).weights)
    return text.format(n=total_parameters(run.config), size=size)


def says_how(facts: ValueFacts) -> str:
    """How it was counted."""
    return _(
        "All weights are counted on {device} in {bins} bins over the range of values, up to 5"
        " σ from the mean. Solid lines mark the mean, dotted lines ±σ (standard deviation)."
    ).format(device=devices.device_name(facts.device), bins=N_BINS)


def draw_values(facts: ValueFacts, *, _: Translate) -> Picture:
    return draw_spread(facts.values, _=_)


def draw_spread(values: WeightValues, *, _: Translate) -> Picture:
    names = {kind: shared.kind_name(kind) for kind in values.moments["kind"]}
    return weight_values_picture.panels(values, names, _=_)


def moments_table(values: WeightValues, *, key: str) -> None:
    """How the weights of each kind are spread."""
    found = values.moments
    shown = pd.DataFrame(
        {
            _("kind"): found["kind"].map(shared.kind_name),
            _("count"): found["count"],
            _("mean"): found["mean"].map(_digits),
            "σ": found["std"].map(_digits),
            _("min"): found["min"].map(_digits),
            _("max"): found["max"].map(_digits),
            _("beyond 5 σ"): found["outside"],
        }
    )
    show_table(shown, key=key, counts=[_("count"), _("beyond 5 σ")])


def _digits(value: float) -> str:
    return f"{value:.4g}" if value - value == 0 else _("not finite")


class WeightsFile(NamedTuple):
    """What a file said of itself, and how its weights are spread."""

    name: str
    config: ModelConfig
    card: Card | None
    values: WeightValues


FILE = Slot[WeightsFile | None]("weights_file", None)
FAULTS = Slot[tuple[Fault, ...]]("weights_file_faults", ())


def upload() -> None:
    """The control, and what was wrong with the file."""
    st.file_uploader(
        _("Weights file (.safetensors) saved on the Training page"),
        ("safetensors",),
        key="uploaded_weights",
        on_change=_read_uploaded,
    )
    for fault in FAULTS.get():
        st.error(say_fault(fault), icon=":material/block:")


def found() -> WeightsFile | None:
    return FILE.get()


def says_file(file: WeightsFile) -> str:
    """What the file holds, as it says itself."""
    if file.card is None:
        text = _("{name}: {n:,} weights; the file does not say how they were trained.")
        return text.format(name=literal(file.name), n=total_parameters(file.config))
    text = _("{name}: {n:,} weights, task {task}, trained for {steps:,} steps, seed {seed}.")
    return text.format(
        name=literal(file.name),
        n=total_parameters(file.config),
        task=literal(file.card.task),
        steps=file.card.n_steps,
        seed=file.card.seed,
    )


def _read_uploaded() -> None:
    FILE.keep(None)
    FAULTS.keep(())
    file = shown_by("uploaded_weights")
    if file is None:
        return
    try:
        FILE.keep(_read(file.name, file.getvalue()))
    except ConfigError as error:
        FAULTS.keep(error.faults)


def _read(name: str, raw: bytes) -> WeightsFile:
    file = read_model_file(raw)
    weights = ((path, file.tensors[path]) for path in parameter_names(file.config))
    return WeightsFile(name, file.config, file.card, values_by_kind(weights))


def shown_values(run: Run, state: State) -> tuple[Run, bool]:
    return run, state.spread_of_weights


def shown_if_built(run: Run, state: State) -> tuple[Run, bool] | None:
    """The same; None where its weights are not looked at."""
    shown = shown_values(run, state)
    return shown if is_shown(*shown) else None


@section
def how_they_are_spread(run: Run, state: State) -> None:
    """Histograms of the weights; a large model is built when the reader asks."""
    place = explained(("weight_values",), (measures.weight_values,), key="values_story")
    if too_large := says_too_large(run, memory_budget(run.device)):
        place.info(too_large, icon=":material/block:")
    elif not is_small(run):
        note(says_building(run))
        switch("spread_of_weights", _("Build the model and inspect its weights"))
    shown = shown_values(run, state)
    if not is_shown(*shown):
        return
    must_have(need(run).total, run.device)
    try:
        with st.spinner(_("Building the model and counting its weights …"), show_time=True):
            facts = value_facts(*shown)
    except ConfigError as error:
        st.warning(say_fault(error.faults[0]), icon=":material/block:")
        return
    with place:
        say(says_values, *shown, facts=value_facts)
    if facts.values.is_finite:
        show(draw_values, *shown, facts=value_facts, key="weight_values")
    moments_table(facts.values, key="moment_table")
    note(says_how(facts))


@section
def those_of_a_file() -> None:
    """Weights of an uploaded file, below those of the page."""
    upload()
    file = found()
    if file is None:
        return
    st.info(says_file(file), icon=":material/description:")
    show_now(draw_spread(file.values, _=_), key="file_values")
    moments_table(file.values, key="file_moment_table")


def how_values_are_spread(run: Run) -> None:
    how_they_are_spread(run)
    those_of_a_file()


PANEL = Panel(
    "values",
    N_("How are weights distributed?"),
    how_values_are_spread,
    fields=("initialization", "n_layers", "seed"),
    at=shown_if_built,
    facts=value_facts,
    shows=(
        File(lambda facts: facts.values.moments, "weight_values"),
        File(lambda facts: facts.values.bins, "weight_bins"),
        Matrix(draw_values, "weight_values"),
    ),
)
