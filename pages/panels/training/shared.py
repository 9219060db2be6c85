"""Sentences of the training page: what is asked, what is set, and what a run shows."""

import dataclasses
from functools import lru_cache

import streamlit as st

from blocks.cost.parameters import total_parameters
from blocks.inspection.learning import BirthFacts
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.kinds import Architecture
from blocks.model.masks import MaskConfig
from blocks.observe.run import Input, Run
from blocks.training.examples import fixed_input, fixed_target
from blocks.training.loop import Training
from blocks.training.pace import MOST_WORK, Pace, measured_pace
from blocks.training.recipe import Recipe, ScheduleKind
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import TaskConfig, TaskKind
from blocks.training.training_run import TrainingRun
from pages.figures.counting import from_one
from pages.page import sidebar
from pages.panels.training.births_picture import MEASURES
from pages.server import cached, runs, starts
from pages.session.slot import Slot
from pages.show import everything
from pages.stage import link
from pages.state.values import State
from pages.words import terms
from pages.words.language import _, literal
from pages.words.numbers import percent


def says_births(facts: BirthFacts) -> str:
    """Which head has most of a measure at the end, and how it was at the start."""
    text = _(
        "{measure}: highest in layer {layer}, head {head}, where it goes from {start} at "
        "step {first:,} to {share} at step {step:,}. Click a point to see that head at that "
        "step."
    )
    found = facts.leading
    return text.format(
        measure=_(MEASURES[facts.measure]),
        layer=from_one(found.layer),
        head=from_one(found.head),
        start=percent(found.first_share),
        first=found.first_step,
        share=percent(found.last_share),
        step=found.last_step,
    )


REFUSED = Slot[tuple[Fault, ...]]("refused", ())  # why no training could begin
WRITING = (TaskKind.TEXT, TaskKind.STORIES)
N_TRIED = 1000  # updates of the recipe whose first ones are timed: no look is due among them


def learner(kind: TaskKind, state: State) -> Architecture:
    """The architecture that learns: the reader's choice where there is one."""
    chosen = Architecture(state.learner)
    return chosen if chosen in kind.architectures else kind.architectures[0]


def expected_pace(spec: TrainingSpec) -> Pace | None:
    """How fast it will be here; None where a moment of it cannot be trained."""
    return _pace(dataclasses.replace(_for_a_moment(spec), seed=0))


def _for_a_moment(spec: TrainingSpec) -> TrainingSpec:
    rates = {"learning_rate": 1e-3, "muon_learning_rate": 1e-3}  # no update is quicker for them
    recipe = spec.recipe.replace(n_steps=N_TRIED, warmup_steps=0, **rates)
    return dataclasses.replace(spec, recipe=recipe)


def untrained_text(spec: TrainingSpec) -> str:
    """What is written before the first update, as the run shows it; none where none is quick."""
    n_tokens = spec.task.seq_len**2 / 2  # each is read again for all that follow
    if spec.task.kind not in WRITING or 2 * total_parameters(spec.config) * n_tokens > MOST_WORK:
        return ""
    return _untrained_text(_for_a_moment(spec))


@lru_cache(maxsize=16)
def _untrained_text(spec: TrainingSpec) -> str:
    try:
        with cached.turn(spec.device):
            training = Training(spec)
            found = training.examiner.sample(training.model, 0)
    except ConfigError:
        return ""
    return found.text if found else ""


@lru_cache(maxsize=64)
def _pace(spec: TrainingSpec) -> Pace | None:
    """Kept for all that differ in how long they go on alone."""
    try:
        with cached.turn(spec.device):
            return measured_pace(spec)
    except ConfigError:
        return None


def model_controls(state: State) -> None:
    architecture = learner(TaskKind(state.task), state)
    sidebar.to_train(state.config.nearest(architecture=architecture)[0])


def start_spec(spec: TrainingSpec) -> None:
    """Start a given training and show it."""
    try:
        run = runs.runs().start(spec, owner=runs.owner())
    except ConfigError as error:
        REFUSED.keep(error.faults)
        return
    st.toast(_("Training started"), icon=":material/model_training:")
    runs.remember(run.id)
    link.restore("at_step")
    link.change("run", run.id)
    if not everything.is_all():
        link.restore("panel")


def watched(state: State) -> TrainingRun | None:
    """The run that the link names, if it is kept."""
    run = runs.find(state.run) if state.run else None
    if run is not None:
        runs.remember(run.id)
    return run


def title(run: TrainingRun) -> str:
    """What a run is called in a list: task, optimizer, steps, and the start of its id."""
    task, recipe = terms.option(run.spec.task.kind), run.spec.recipe
    optimizer = terms.option(recipe.optimizer)
    text = _("{task} · {optimizer} · {n:,} steps · {name}")
    return text.format(task=task, optimizer=optimizer, n=recipe.n_steps, name=run.id[:4])


def reading(run: TrainingRun, step: int, token_ids: tuple[int, ...]) -> Run:
    """The model at a kept step with these tokens; of pairs with the right target too."""
    start = starts.start(runs.preset_of(run.id), step)
    written = fixed_target(starts.build_task_once(run.spec.task)) if is_of_pairs(run) else ()
    return Run(
        config=run.spec.config,
        weights=start.weights,
        input=_text(run, token_ids, start.weights),
        target=_text(run, written, start.weights) if written else None,
        mask=MaskConfig(mask_kind=start.mask_kind),
        seed=run.spec.seed,
        device=run.spec.device,
    )


def _text(run: TrainingRun, token_ids: tuple[int, ...], vocabulary: str) -> Input:
    label = starts.task_tokenizer(run.spec.task).label
    return Input(tokens=tuple(map(label, token_ids)), token_ids=token_ids, vocabulary=vocabulary)


def is_of_pairs(run: TrainingRun) -> bool:
    return run.spec.config.architecture is Architecture.ENCODER_DECODER


@lru_cache(maxsize=16)
def own_row(task: TaskConfig) -> tuple[int, ...]:
    return fixed_input(starts.build_task_once(task))


def run_choice(state: State) -> None:
    """Which run of this session is looked at."""
    mine = runs.mine()
    if len(mine) < 2:
        return
    with st.container(key="run"):
        st.selectbox(
            _("Training runs in this session"),
            mine,
            format_func=title_of,
            **link.view("run", state.run, mine),
        )


def title_of(run_id: str) -> str:
    run = runs.find(run_id)
    return title(run) if run is not None else run_id


def forgotten_note(run: TrainingRun | None, state: State) -> None:
    """What to say where the link names a run that is not kept (any more)."""
    name = state.run
    if name and run is None:
        text = _("The training run {name} is no longer available. Start it again.")
        st.info(text.format(name=literal(name)), icon=":material/search_off:")


SCHEDULES = {
    ScheduleKind.CONSTANT: N_(
        "The learning rate warms up over {warmup} steps and then stays at {peak:g}."
    ),
    ScheduleKind.COSINE: N_(
        "The learning rate warms up over {warmup} steps to {peak:g} and then falls to "
        "{last:g} along a cosine."
    ),
    ScheduleKind.TRAPEZOID: N_(
        "The learning rate warms up over {warmup} steps to {peak:g}, stays there, and falls "
        "linearly to {last:g} over the last {share:.0%} of steps."
    ),
    ScheduleKind.PAPER: N_(
        "The learning rate rises for {warmup} steps, then falls as the inverse square root "
        "of the step number; it is smaller for wider models."
    ),
}

ONE_MINUTE = 60.0  # seconds


def says_seconds(seconds: float, n_steps: int) -> str:
    """How long it will take here."""
    return _(
        "On this machine, {n:,} updates take about {time}, estimated by timing a few; scoring"
        " and sampling take extra time."
    ).format(time=_duration(seconds), n=n_steps)


def _duration(seconds: float) -> str:
    if seconds < ONE_MINUTE:
        return _("{n:.0f} s").format(n=max(1, seconds))
    return _("{n:.0f} min").format(n=seconds / ONE_MINUTE)


def says_schedule(recipe: Recipe) -> str:
    """The schedule in words."""
    return _(SCHEDULES[recipe.schedule]).format(
        warmup=recipe.warmup_steps,
        peak=recipe.learning_rate,
        last=recipe.last_rate,
        share=recipe.decay_share,
    )
