"""What is to be learned, and how: set before a training starts."""

import dataclasses

import streamlit as st

from blocks.training import optimizers, schedule
from blocks.training.examples import example
from blocks.training.recipe import OptimizerKind, Recipe
from blocks.training.spec import TrainingSpec
from pages.figures import schedule as schedule_figure
from pages.figures.curves import Steps
from pages.ui import chips, link, runs, training_words
from pages.ui.chart import show
from pages.ui.explain import heading, note
from pages.ui.language import _
from pages.ui.training_controls import (
    one_minute,
    recipe_controls,
    start_controls,
    task_controls,
)
from pages.ui.training_spec import Wanted, expected_pace, wanted, wanted_recipe

MOST_CHIPS = 40


def set_up() -> None:
    """The button that starts, and what it starts: task and recipe side by side."""
    asked = wanted()
    start_controls(asked)
    place = st.container(horizontal=True, vertical_alignment="center", key="expected")
    if asked.spec is not None:
        note(training_words.model_sentence(asked))
    left, right = st.columns(2, gap="large")
    with left:
        what_is_learned(asked)
    with right:
        how_it_is_learned()
    if asked.spec is not None and not asked.faults:
        with place:
            how_long_it_takes(asked.spec)


def how_long_it_takes(spec: TrainingSpec) -> None:
    """What it will take here, timed once all else stands; and what fits into a minute."""
    if runs.is_busy(spec.device):
        return
    with st.spinner(_("A few updates are timed …")):
        pace = expected_pace(spec)
    if pace is None:
        return
    st.caption(training_words.seconds_sentence(pace.seconds(spec.recipe), spec.recipe.n_steps))
    one_minute(pace.n_steps(spec.recipe, training_words.ONE_MINUTE))


def what_is_learned(asked: Wanted) -> None:
    """The task, and a row of it."""
    heading(_("What it learns"), ("tasks",), (example,), key="task_set")
    task_controls()
    st.markdown(training_words.task_sentence())
    if asked.task is not None:
        places = example(asked.task)
        note(training_words.example_sentence(places))
        chips.show(training_words.example_chips(places, MOST_CHIPS), key="example")


def how_it_is_learned() -> None:
    """The recipe, its knobs, and its schedule before it runs."""
    code = (schedule.rate_factor, optimizers.build_optimizers)
    heading(_("How it learns"), ("optimizers", "schedule"), code, key="recipe_set")
    recipe, _faults = wanted_recipe()
    recipe_controls(recipe)
    note(training_words.recipe_sentence())
    d_model = link.config().d_model
    show(draw_schedule, recipe, d_model, key="planned_rates", alt=schedule_alt)
    note(training_words.schedule_sentence(recipe))


def draw_schedule(recipe: Recipe, d_model: int):
    """The learning rate over all steps."""
    return rates_picture(recipe, d_model, Steps(recipe.n_steps, False), now=None)


def rates_picture(recipe: Recipe, d_model: int, steps: Steps, now: int | None):
    """The rates of the recipe; with Muon those of the matrices, too."""
    curves = {_("learning_rate"): schedule.curve(recipe, d_model)}
    if recipe.optimizer is OptimizerKind.MUON:
        of_matrices = dataclasses.replace(recipe, learning_rate=recipe.muon_learning_rate)
        curves[_("muon_learning_rate")] = schedule.curve(of_matrices, d_model)
    return schedule_figure.rates(curves, steps, warmup=recipe.warmup_steps, now=now, _=_)


def schedule_alt(recipe: Recipe, _d_model: int) -> str:
    """The schedule in words."""
    return training_words.schedule_sentence(recipe)
