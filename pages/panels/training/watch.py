"""A training while it goes on: its state, its curves, what it writes."""

import dataclasses
from collections.abc import Callable
from math import ceil

import pandas as pd
import streamlit as st

from blocks.inspection.learning import LearningFacts, learning_facts
from blocks.model.faults import N_, ConfigError, Fault
from blocks.training import loop, loss
from blocks.training.comparison import differences
from blocks.training.events import Answer, Sample
from blocks.training.smoothing import half_life, smoothed
from blocks.training.spec import TrainingSpec
from blocks.training.training_run import RunState, RunView, TrainingRun
from blocks.work.queue import Place
from pages.page.frame import live_section
from pages.panels.training import curves_picture, shared
from pages.panels.training.curves_picture import Steps, Told
from pages.panels.training.setup_picture import Plan, rates
from pages.server import runs, starts
from pages.session.slot import Slot
from pages.show.chart import show_now
from pages.show.explain import explained, note
from pages.show.steps import says_place
from pages.show.ways import mend_text
from pages.stage import link
from pages.state.values import State
from pages.words import chips
from pages.words.language import _, enumeration, ngettext, say_fault, sentences

FAULTS = Slot[tuple[Fault, ...]]("run_faults", ())
SEEN_ACTIVE = Slot("seen_active", "")  # the run that went on when it was looked at last


def compare_choice(run: TrainingRun, state: State) -> None:
    """Another run to lay over this one."""
    others = tuple(each for each in runs.mine() if each != run.id)
    shown = state.compare
    options = ("", *dict.fromkeys((*others, *([shown] if compared(run, state) else []))))
    if len(options) == 1:
        return
    with st.container(key="compare"):
        st.selectbox(
            _("Compare with"),
            options,
            format_func=lambda name: shared.title_of(name) if name else _("nothing"),
            **link.view("compare", shown if shown in options else "", options),
        )


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


def _button(key: str, label: str, icon: str, do: Callable[[str], None], run_id: str) -> None:
    st.button(label, icon=icon, key=f"{key}_run", on_click=_ask, args=(do, run_id))


def _ask(do: Callable[[str], None], run_id: str) -> None:
    """A run may have ended, or be forgotten, between two looks."""
    try:
        do(run_id)
    except ConfigError as error:
        FAULTS.keep(error.faults)
    link.redraw_everything()


def ended_note(run: TrainingRun, view: RunView) -> None:
    """Why it ended before its last step, and the way out."""
    for fault in FAULTS.take():
        st.warning(say_fault(fault))
    if view.fault is None:
        return
    st.warning(say_fault(view.fault), icon=":material/error:")
    if view.fault.mend:
        st.button(
            _("Restart with {mend}").format(mend=mend_text(view.fault.mend)),
            key="start_again_mended",
            type="primary",
            on_click=_start_mended,
            args=(run,),
        )


def _start_mended(run: TrainingRun) -> None:
    mend = run.status.fault.mend if run.status.fault else {}
    recipe, _faults = run.spec.recipe.nearest(**mend)
    shared.start_spec(dataclasses.replace(run.spec, recipe=recipe))
    link.redraw_everything()


STATES = {
    RunState.QUEUED: N_("waiting"),
    RunState.RUNNING: N_("running"),
    RunState.PAUSED: N_("paused"),
    RunState.FINISHED: N_("finished"),
    RunState.STOPPED: N_("stopped"),
    RunState.FAILED: N_("failed"),
}


def state_sentence(view: RunView, place: Place | None) -> str:
    """Where the run is, and how long it will take."""
    text = _("{state} · step {step:,} of {n_steps:,} · {seconds:.0f} s on the device")
    state = _("stopping …") if view.is_leaving_off else _(STATES[view.state])
    said = [text.format(state=state, step=view.step, n_steps=view.n_steps, seconds=view.seconds)]
    if place is not None and place.position:
        said.append(says_place(place))
    if view.state is RunState.RUNNING and view.seconds_left is not None:
        said.append(_("about {seconds:.0f} s left").format(seconds=view.seconds_left))
    return " · ".join(said)


def says_learning(facts: LearningFacts, name: str) -> str:
    """What the curves of this run say; `name`: what its score counts."""
    if facts.step is None:
        text = _(
            "A uniform guess over {n:,} tokens has a loss of {nats:.2f} nats: an untrained "
            "model starts near that."
        )
        return text.format(n=facts.vocab_size, nats=facts.guess)
    text = _(
        "After {step:,} steps the validation loss is {loss:.2f} nats ({bits:.2f} bits), a "
        "perplexity of {perplexity:.1f}: the model is as uncertain as if it chose among "
        "{perplexity:.1f} equally likely tokens (vocabulary: {n:,}). The score is {score} "
        "({score_name})."
    )
    if facts.is_worse_than_a_guess:
        text = _(
            "After {step:,} steps the validation loss is {loss:.2f} nats ({bits:.2f} bits), a"
            " perplexity of {perplexity:,.1f}. This is worse than a uniform guess over all "
            "{n:,} tokens. The score is {score} ({score_name})."
        )
    said = text.format(
        step=facts.step,
        loss=facts.loss,
        bits=facts.bits,
        perplexity=facts.perplexity,
        n=facts.vocab_size,
        score_name=name,
        score=f"{facts.score:.1%}" if facts.is_share else f"{facts.score:.2f}",
    )
    ahead = more = ""
    if facts.ahead:
        text = _("The MTP loss, for tokens further ahead, is {losses} nats.")
        ahead = text.format(losses=enumeration(f"{loss:.2f}" for loss in facts.ahead))
    if facts.is_overfitting:
        more = _(
            "The validation loss is rising again: the model is overfitting and starting to "
            "memorize its training examples."
        )
    elif facts.is_guessing:
        more = _("So far the model is hardly better than random guessing.")
    return sentences(said, ahead, more)


def score_name(view: RunView) -> str:
    return _(starts.build_task_once(view.spec.task).score_name)


def sample_sentence(sample: Sample) -> str:
    """When it was written, and how much of it is right where that can be told."""
    said = ngettext("After {n:,} step", "After {n:,} steps", sample.step).format(n=sample.step)
    if not sample.answers:
        return said
    n_right = sum(answer.written == answer.right for answer in sample.answers)
    return _(
        "{when}: {right} of {n} validation examples correct, with the most probable token "
        "chosen at each step"
    ).format(when=said, right=n_right, n=len(sample.answers))


def answers_table(answers: tuple[Answer, ...]) -> pd.DataFrame:
    """What was asked, what the model wrote, and what is right, a row each."""
    rows = [
        (
            chips.literally(answer.question),
            chips.literally(answer.written) or _("(nothing)"),
            "✓" if answer.written == answer.right else chips.literally(answer.right),
        )
        for answer in answers
    ]
    return pd.DataFrame(rows, columns=[_("source"), _("generated"), _("reference answer")])


def smoothing_note(view: RunView) -> str:
    """How the smooth curve is made."""
    n, recipe = half_life(view.n_steps), view.spec.recipe
    smooth = ngettext(
        "Curves are smoothed by an exponential moving average with a half-life of {n:g} step.",
        "Curves are smoothed by an exponential moving average with a half-life of {n:g} steps.",
        ceil(n),
    )
    text = _("Validation uses the same {rows} held-out examples at each evaluation.")
    rows = recipe.n_eval_batches * recipe.batch_size
    return sentences(smooth.format(n=n), text.format(rows=rows))


MOST_NAMED = 2


def compared(run: TrainingRun, state: State) -> TrainingRun | None:
    """The run that it is laid over, if one was chosen and is kept."""
    other = state.compare
    return runs.find(other) if other and other != run.id else None


def with_smoothed(view: RunView) -> pd.DataFrame:
    """The curves of a run with the smoothed loss beside the raw one."""
    return view.curves.assign(smoothed=smoothed(view.curves, n_steps=view.n_steps))


def run_names(one: TrainingSpec, other: TrainingSpec) -> tuple[str, str]:
    """What the two are called in a legend: what they differ in."""
    found = list(differences(one, other).items())[:MOST_NAMED]
    if not found:
        return _("this training run"), _("repeat of the same run")
    first, second = (
        enumeration(f"{name} {_short(pair[i])}" for name, pair in found) for i in (0, 1)
    )
    return first, second


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


STATE_EVERY, CURVES_EVERY = 1.0, 2.0  # seconds: a chart that changes is put up anew, and blinks


def run_state(run: TrainingRun) -> None:
    """Where a run is, what it says, and how to stop it; reruns until the run ends."""
    note(shared.title(run))
    live_section(draw_state, run.id, every=STATE_EVERY if run.state.is_active else None)


def curves_panel(run: TrainingRun, state: State) -> None:
    """Its curves; they rerun until the run ends."""
    code = (loss.cross_entropy, loop.Training)
    with explained(("training", "loss_curve"), code, key="watch"):
        _controls(run, state)
    live_section(draw_curves, run.id, every=CURVES_EVERY if run.state.is_active else None)


def samples_panel(run: TrainingRun) -> None:
    live_section(draw_samples, run.id, every=CURVES_EVERY if run.state.is_active else None)


def draw_state(run_id: str) -> None:
    """Where the run is; once it has ended, the whole page is drawn once more."""
    run = runs.find(run_id)
    if run is None:
        st.rerun(scope="app")
    view = run.view()
    _state(run, view)
    was_active = SEEN_ACTIVE.get() == run_id
    SEEN_ACTIVE.keep(run_id if view.state.is_active else "")
    if was_active and not view.state.is_active:
        st.rerun(scope="app")


def draw_curves(run_id: str, state: State) -> None:
    """What it has told so far."""
    run = runs.find(run_id)
    if run is None:
        return
    view, other = run.view(), compared(run, state)
    if view.state.has_ended:
        _learned(view)
    _curves(told(run, view, other), view, _steps(run, other, state))


def _state(run: TrainingRun, view: RunView) -> None:
    place = runs.runs().place(run.id) if view.state is RunState.QUEUED else None
    st.progress(view.progress, state_sentence(view, place))
    run_buttons(view)
    ended_note(run, view)
    if not view.state.has_ended:
        _learned(view)


def _learned(view: RunView) -> None:
    said = says_learning(learning_facts(view), score_name(view))
    st.info(said, icon=":material/lightbulb:")


def _controls(run: TrainingRun, state: State) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", key="curve_controls"):
        compare_choice(run, state)
        st.toggle(_("Logarithmic step axis"), **link.view("log_steps", state.log_steps))


def told(run: TrainingRun, view: RunView, other: TrainingRun | None) -> list[Told]:
    """What the pictures need of the run, and of the one it is compared with."""
    if other is None:
        return [_told(view, "")]
    names = run_names(run.spec, other.spec)
    return [_told(view, names[0]), _told(other.view(), names[1])]


def _told(view: RunView, name: str) -> Told:
    return Told(name, with_smoothed(view), view.evaluations, view.layer_gradients, view.ahead)


def _curves(pictures: list[Told], view: RunView, steps: Steps) -> None:
    left, right = st.columns(2)
    with left:
        facts = learning_facts(view)
        show_now(curves_picture.loss(pictures, steps, guess=facts.guess, _=_), key="loss")
    with right:
        name, is_share = score_name(view), facts.is_share
        show_now(
            curves_picture.score(pictures, steps, name=name, is_share=is_share, _=_), key="score"
        )
    note(smoothing_note(view))
    columns = st.columns(3)
    with columns[0]:
        recipe, d_model = view.spec.recipe, view.spec.config.d_model
        plan = Plan(recipe, d_model, steps, _newest_evaluation(view))
        show_now(rates(plan, _=_), key="rates")
    with columns[1]:
        show_now(curves_picture.gradients(pictures[0], steps, _), key="gradients")
        note(
            _(
                "Gray shows the gradient of all parameters. The darker the blue, the later the "
                "layer."
            )
        )
    with columns[2]:
        show_now(curves_picture.speed(pictures[0], steps, _), key="speed")


def _newest_evaluation(view: RunView) -> int | None:
    """The step of the newest evaluation: a mark that moves seldom."""
    return None if view.evaluations.empty else int(view.evaluations["step"].iloc[-1])


def _steps(run: TrainingRun, other: TrainingRun | None, state: State) -> Steps:
    most = max(each.spec.recipe.n_steps for each in (run, other or run))
    return Steps(most, state.log_steps)


def draw_samples(run_id: str) -> None:
    """What the model writes, the newest first."""
    run = runs.find(run_id)
    samples = () if run is None else run.view().samples
    if not samples:
        st.caption(_("The first results will appear here in a moment."))
        return
    if len(samples) > 1 and not samples[0].answers:
        _before_and_after(samples[0], samples[-1])
    with st.container(height=560, key="samples"):
        for sample in reversed(samples):
            st.caption(sample_sentence(sample))
            if sample.answers:
                st.table(answers_table(sample.answers), hide_index=True)
            else:
                st.code(sample.text, language=None, wrap_lines=True)


def _before_and_after(first: Sample, last: Sample) -> None:
    """The reward of a training: what the same beginning is made into."""
    for place, sample in zip(st.columns(2), (first, last), strict=True):
        with place.container(border=True):
            st.markdown(f"**{sample_sentence(sample)}**")
            st.markdown(chips.literally(sample.text))
