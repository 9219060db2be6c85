"""A small model to keep: trained as any model here, then opened on all pages or taken away."""

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from blocks import ConfigError, Fault
from blocks.training.spec import TrainingSpec
from blocks.training.teaching import Teacher
from blocks.training.training_run import TrainingRun
from pages.panels.efficiency import shared
from pages.panels.training import watch
from pages.panels.training.shared import watched
from pages.server import runs, starts
from pages.session.slot import Slot
from pages.show.controls import choose
from pages.show.explain import note
from pages.show.export import download
from pages.stage import kept, link
from pages.stage.press import press
from pages.state.link_fields.efficiency import UPDATES
from pages.state.values import State
from pages.words.language import _, say_fault

TRAINING = "pages/training.py"


@contextmanager
def row(title: str) -> Iterator[None]:
    """The settings and the button, side by side below a title."""
    st.markdown(title)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        yield


def n_updates(field: str, state: State) -> int:
    choose(field, _("Updates"), UPDATES, label_of=str)
    return int(state[field])


def start_button(label: str, spec: TrainingSpec, *, key: str) -> None:
    press(label, f"train_{key}", _start, spec, key, icon="model_training")


def _start(spec: TrainingSpec, key: str) -> None:
    try:
        run = runs.runs().start(spec, owner=runs.owner())
    except ConfigError as error:
        _faults(key).keep(error.faults)
        return
    runs.remember(run.id)
    link.change("run", run.id)


def _faults(key: str) -> Slot[tuple[Fault, ...]]:
    return Slot(f"{key}_faults", ())


def watched_one(spec: TrainingSpec, state: State, *, key: str) -> None:
    """The run that the link names, where it is one of these; once it has ended, the ways on."""
    for fault in _faults(key).take():
        st.error(say_fault(fault), icon=":material/block:")
    run = watched(state)
    if run is not None and _made_of(run.spec) == _made_of(spec):
        watch.run_state(run)
        if run.state.has_ended and run.snapshots.steps:
            _ways_on(run, key)


def _made_of(spec: TrainingSpec) -> tuple[str, str]:
    """Its teacher, and the model that it went on with; without a recipe."""
    teacher = spec.teaching.teacher if spec.teaching else None
    return _name(teacher), _name(spec.origin)


def _name(of: Teacher | None) -> str:
    return starts.original(of.name) if of else ""


def _ways_on(run: TrainingRun, key: str) -> None:
    """As the model of all pages, alone or beside the one shown now; as a file."""
    step = run.snapshots.steps[-1]
    with st.container(horizontal=True, key=f"open_{key}"):
        press(
            _("Use this model on all pages"),
            f"use_{key}",
            shared.open_preset,
            runs.preset_of(run.id),
            icon="arrow_forward",
        )
        press(
            _("Set as B, with the current model as A"),
            f"{key}_beside",
            _beside,
            run,
            icon="compare",
        )
        download(
            f"{key}-{step}.safetensors",
            lambda: starts.model_of_run(run, step).to_bytes(),
            "application/octet-stream",
        )
        st.page_link(
            TRAINING,
            label=_("How this model learned"),
            icon=":material/show_chart:",
            query_params={**link.elsewhere(TRAINING), "run": run.id},
        )
    note(_("The file contains only this model; reopen it under *Bring your own weights*."))


def _beside(run: TrainingRun) -> None:
    """Keep the model as it was trained as A; what became of it is B from then on."""
    shown = link.value("preset")
    if (whole := starts.variant_of(shown, "")) != shown:
        shared.open_preset(whole)
    kept.keep()
    shared.open_preset(runs.preset_of(run.id))
