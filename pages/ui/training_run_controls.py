"""What one can do with a run: pause it, stop it, start it again, lay another over it."""

import dataclasses

import streamlit as st

from blocks.model.faults import ConfigError
from blocks.training.training_run import RunState, RunView, TrainingRun
from pages.ui import link, runs, watched
from pages.ui.language import _, literal, say_fault
from pages.ui.training_controls import mend_text, start_spec


def run_choice() -> None:
    """Which run of this session is looked at."""
    mine = runs.mine()
    if len(mine) < 2:
        return
    with st.container(key="run"):
        st.selectbox(
            _("Training runs of this session"),
            mine,
            format_func=_title,
            **link.view("run", link.value("run"), mine),
        )


def compare_choice(run: TrainingRun) -> None:
    """Another run to lay over this one."""
    others = tuple(each for each in runs.mine() if each != run.id)
    shown = link.value("compare")
    options = ("", *dict.fromkeys((*others, *([shown] if watched.compared(run) else []))))
    if len(options) == 1:
        return
    with st.container(key="compare"):
        st.selectbox(
            _("Compare with"),
            options,
            format_func=lambda name: _title(name) if name else _("nothing"),
            **link.view("compare", shown if shown in options else "", options),
        )


def _title(run_id: str) -> str:
    run = runs.find(run_id)
    return watched.title(run) if run is not None else run_id


def run_buttons(view: RunView) -> None:
    """Pause, go on, stop: what its state allows; nothing while it makes its last step."""
    if view.is_leaving_off:
        return
    registry = runs.runs()
    with st.container(horizontal=True, key="run_buttons"):
        if view.state.is_active:
            _button("pause", _("Pause"), ":material/pause:", registry.pause, view.id)
        if view.state is RunState.PAUSED:
            _button("resume", _("Resume"), ":material/play_arrow:", registry.resume, view.id)
        if not view.state.has_ended:
            _button("stop", _("Stop"), ":material/stop:", registry.stop, view.id)


def _button(key: str, label: str, icon: str, do, run_id: str) -> None:
    st.button(label, icon=icon, key=f"{key}_run", on_click=_ask, args=(do, run_id))


def _ask(do, run_id: str) -> None:
    """A run may have ended, or be forgotten, between two looks."""
    try:
        do(run_id)
    except ConfigError as error:
        st.session_state["run_faults"] = error.faults
    link.redraw_everything()


def ended_note(run: TrainingRun, view: RunView) -> None:
    """Why it ended before its last step, and the way out."""
    for fault in st.session_state.pop("run_faults", ()):
        st.warning(say_fault(fault))
    if view.fault is None:
        return
    st.warning(say_fault(view.fault), icon=":material/error:")
    if view.fault.mend:
        st.button(
            _("Restart with {mend}").format(mend=mend_text(view.fault)),
            key="start_again_mended",
            type="primary",
            on_click=_start_mended,
            args=(run,),
        )


def _start_mended(run: TrainingRun) -> None:
    mend = run.status.fault.mend if run.status.fault else {}
    recipe, _faults = run.spec.recipe.nearest(**mend)
    start_spec(dataclasses.replace(run.spec, recipe=recipe))
    link.redraw_everything()


def forgotten_note(run: TrainingRun | None) -> None:
    """What to say where the link names a run that is not kept (any more)."""
    name = link.value("run")
    if name and run is None:
        text = _("The training run {name} is no longer kept: start it again.")
        st.info(text.format(name=literal(name)), icon=":material/search_off:")
