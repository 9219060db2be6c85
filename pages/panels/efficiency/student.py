"""A student to keep: trained as any model here, then opened on all pages or taken away."""

import streamlit as st

from blocks import ConfigError
from blocks.training.spec import TrainingSpec
from blocks.training.training_run import TrainingRun
from pages.panels.efficiency import shared
from pages.panels.training import watch
from pages.panels.training.shared import watched
from pages.ui import link, runs, starts
from pages.ui.compare import kept
from pages.ui.controls import choose
from pages.ui.explain import note
from pages.ui.export import download
from pages.ui.language import _, say_fault
from pages.ui.link_fields.efficiency import STUDENT_UPDATES


def to_keep(spec: TrainingSpec) -> None:
    """The way to a student of one's own; once it is trained, the ways on."""
    st.markdown(_("**Keep a student**"))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        choose("student_updates", _("Updates"), STUDENT_UPDATES, label_of=str)
        label = _("Train one with the teacher")
        icon = ":material/model_training:"
        st.button(label, icon=icon, key="train_student", on_click=_start, args=(spec,))
    for fault in st.session_state.pop("student_faults", ()):
        st.error(say_fault(fault), icon=":material/block:")
    run = watched()
    if run is not None and run.spec.teaching is not None:
        watch.state(run)
        if run.state.has_ended and run.snapshots.steps:
            _opened(run)


def _start(spec: TrainingSpec) -> None:
    try:
        run = runs.runs().start(spec, owner=runs.owner())
    except ConfigError as error:
        st.session_state["student_faults"] = error.faults
        return
    runs.remember(run.id)
    link.change("run", run.id)


def _opened(run: TrainingRun) -> None:
    """As the model of all pages, alone or beside its teacher; as files."""
    step = run.snapshots.steps[-1]
    with st.container(horizontal=True, key="open_student"):
        st.button(
            _("Make it the model of all pages"),
            icon=":material/arrow_forward:",
            key="use_student",
            on_click=shared.open_preset,
            args=(runs.preset_of(run.id),),
        )
        st.button(
            _("Make it B, its teacher A"),
            icon=":material/compare:",
            key="student_beside",
            on_click=_beside,
            args=(run,),
        )
        download(
            f"student-{step}.safetensors",
            lambda: starts.model_of_run(run, step).to_bytes(),
            "application/octet-stream",
        )
        query = {**link.elsewhere(), "run": run.id}
        label = _("How it learned")
        st.page_link(
            "pages/training.py", label=label, icon=":material/show_chart:", query_params=query
        )
    note(_("The file holds the student alone, and opens again under *Bring your own weights*."))


def _beside(run: TrainingRun) -> None:
    """Keep the teacher, which is shown now, as A; the student is B from then on."""
    kept.keep()
    shared.open_preset(runs.preset_of(run.id))
