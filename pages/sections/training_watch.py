"""A training while it goes on: its state, its curves, what it writes."""

import streamlit as st

from blocks.training import loop, loss
from blocks.training.training_run import RunState, RunView, TrainingRun
from pages.figures import curves
from pages.figures.curves import Steps, Told
from pages.sections.training_setup import rates_picture
from pages.ui import curve_words, link, runs, training_words, watched
from pages.ui.chart import show_now
from pages.ui.explain import heading, note
from pages.ui.frame import live_section
from pages.ui.language import _
from pages.ui.training_run_controls import compare_choice, ended_note, run_buttons

STATE_EVERY, CURVES_EVERY = 1.0, 2.0  # seconds: a chart that changes is put up anew, and blinks


def what_it_is_learning(run: TrainingRun) -> None:
    """Everything that changes while it learns; drawn anew again and again until the end."""
    code = (loss.cross_entropy, loop.Training)
    heading(_("How it is learning"), ("training", "loss_curve"), code, key="watch")
    note(watched.title(run))
    is_active = run.state.is_active
    live_section(draw_state, run.id, every=STATE_EVERY if is_active else None)
    live_section(draw_curves, run.id, every=CURVES_EVERY if is_active else None)


def draw_state(run_id: str) -> None:
    """Where the run is; once it has ended, the whole page is drawn once more."""
    run = runs.find(run_id)
    if run is None:
        st.rerun(scope="app")
    view = run.view()
    _state(run, view)
    was_active = st.session_state.get("seen_active") == run_id
    st.session_state["seen_active"] = run_id if view.state.is_active else ""
    if was_active and not view.state.is_active:
        st.rerun(scope="app")


def draw_curves(run_id: str) -> None:
    """What it has told so far, and what it writes."""
    run = runs.find(run_id)
    if run is None:
        return
    view, other = run.view(), watched.compared(run)
    _controls(run)
    _curves(told(run, view, other), view, _steps(run, other))
    _samples(view)


def _state(run: TrainingRun, view: RunView) -> None:
    registry = runs.runs()
    position = wait = None
    if view.state is RunState.QUEUED:
        position, wait = registry.position(run.id), registry.expected_wait(run.id)
    st.progress(view.progress, training_words.state_sentence(view, position, wait))
    run_buttons(view)
    ended_note(run, view)
    st.info(training_words.run_sentence(view), icon=":material/lightbulb:")


def _controls(run: TrainingRun) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", key="curve_controls"):
        compare_choice(run)
        st.toggle(_("Logarithmic step axis"), **link.view("log_steps", link.value("log_steps")))


def told(run: TrainingRun, view: RunView, other: TrainingRun | None) -> list[Told]:
    """What the pictures need of the run, and of the one it is compared with."""
    if other is None:
        return [_told(view, "")]
    names = watched.names(run.spec, other.spec)
    return [_told(view, names[0]), _told(other.view(), names[1])]


def _told(view: RunView, name: str) -> Told:
    return Told(name, watched.with_smoothed(view), view.evaluations, view.layer_gradients)


def _curves(pictures: list[Told], view: RunView, steps: Steps) -> None:
    left, right = st.columns(2)
    with left:
        alt = curve_words.curve_alt(_("Loss"), view)
        show_now(loss_picture(pictures, view, steps), key="loss", alt=alt)
    with right:
        alt = curve_words.curve_alt(training_words.score_name(view), view)
        show_now(score_picture(pictures, view, steps), key="score", alt=alt)
    note(training_words.smoothing_note(view))
    columns = st.columns(3)
    with columns[0]:
        recipe, d_model = view.spec.recipe, view.spec.config.d_model
        figure = rates_picture(recipe, d_model, steps, now=_newest_evaluation(view))
        show_now(figure, key="rates", alt=training_words.schedule_sentence(recipe))
    with columns[1]:
        figure = curves.gradients(pictures[0], steps, _)
        show_now(figure, key="gradients", alt=curve_words.gradient_alt(view))
        note(_("Grey: the whole gradient. The darker the blue, the later the layer."))
    with columns[2]:
        figure = curves.speed(pictures[0], steps, _)
        show_now(figure, key="speed", alt=curve_words.speed_alt(view))


def loss_picture(pictures: list[Told], view: RunView, steps: Steps):
    """Loss over steps."""
    return curves.loss(pictures, steps, guess=training_words.guessing(view), _=_)


def score_picture(pictures: list[Told], view: RunView, steps: Steps):
    """Score over steps."""
    name, is_share = training_words.score_name(view), training_words.is_share(view)
    return curves.score(pictures, steps, name=name, is_share=is_share, _=_)


def _newest_evaluation(view: RunView) -> int | None:
    """The step of the newest evaluation: a mark that moves seldom."""
    return None if view.evaluations.empty else int(view.evaluations["step"].iloc[-1])


def _steps(run: TrainingRun, other: TrainingRun | None) -> Steps:
    """As far as the longest of the runs."""
    most = max(each.spec.recipe.n_steps for each in (run, other or run))
    return Steps(most, link.value("log_steps"))


def _samples(view: RunView) -> None:
    """What the model writes, the newest first."""
    if not view.samples:
        return
    st.subheader(_("What it writes"), anchor="samples")
    with st.container(height=340, key="samples"):
        for sample in reversed(view.samples):
            note(training_words.sample_sentence(sample))
            if sample.answers:
                st.table(training_words.answers_table(sample.answers), hide_index=True)
            else:
                st.code(sample.text, language=None, wrap_lines=True)
