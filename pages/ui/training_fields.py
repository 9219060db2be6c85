"""What a link says of a training: what is learned, how, and which run is watched."""

from collections.abc import Mapping
from typing import Any

from blocks.training.recipe import BOUNDS, RECIPES, OptimizerKind, ScheduleKind
from blocks.training.stories import Language
from blocks.training.tasks import LEARNERS, TaskKind, TokenKind
from pages.ui.language import browser_language
from pages.ui.readers import Field, choice, identifier, whole, within

CORPORA, LOOKED_AT = ("python", "own"), ("task", "own")
HEAD_MEASURES = ("previous_token", "induction", "first_token", "same_token")
USUAL_LENGTHS = {"copy": 16, "reverse": 16, "sort": 16, "addition": 14}
# Updates after which the fast recipe has learned it; the others bring their own number.
USUAL_STEPS = {"sort": 1000, "reverse": 400, "copy": 400, "addition": 1000, "masked_words": 600}
LONGEST_ROW = 512


def _language(values: Mapping[str, Any]) -> str:
    return values.get("lang") or browser_language()


def _usual_length(values: Mapping[str, Any]) -> int:
    return USUAL_LENGTHS.get(values.get("task", ""), 64)


def _usual_learner(values: Mapping[str, Any]) -> str:
    return str(TaskKind(values.get("task", TaskKind.STORIES)).architectures[0])


def _of_recipe(name: str) -> Field:
    """A knob of the recipe: the recipe that was chosen says where it stands."""
    is_whole = isinstance(RECIPES["fast"].flat()[name], int)
    least, most = BOUNDS[name]
    read = whole(int(least), int(most)) if is_whole else within(float(least), float(most))
    return Field(read, lambda values: RECIPES[values.get("recipe", "fast")].flat()[name])


def _usual_steps(values: Mapping[str, Any]) -> int:
    recipe = values.get("recipe", "fast")
    usual = RECIPES[recipe].n_steps
    return USUAL_STEPS.get(values.get("task", ""), usual) if recipe == "fast" else usual


# What is learned, and how; the knobs of a recipe have its own names.
TASK = {
    "task": Field(choice(TaskKind), str(TaskKind.STORIES)),
    "learner": Field(choice(LEARNERS), _usual_learner),
    "story_language": Field(choice(Language), _language),
    "corpus": Field(choice(CORPORA), "python"),
    "token_kind": Field(choice(TokenKind), str(TokenKind.CHARACTERS)),
    "task_seq_len": Field(whole(4, LONGEST_ROW), _usual_length),
}
KNOBS = {
    **{name: _of_recipe(name) for name in BOUNDS if name not in ("n_eval_batches", "eval_every")},
    "n_steps": Field(_of_recipe("n_steps").read, _usual_steps),
    "optimizer": Field(
        choice(OptimizerKind), lambda values: str(RECIPES[values.get("recipe", "fast")].optimizer)
    ),
    "schedule": Field(
        choice(ScheduleKind), lambda values: str(RECIPES[values.get("recipe", "fast")].schedule)
    ),
}
TRAINING = {
    **TASK,
    "recipe": Field(choice(RECIPES), "fast"),
    **KNOBS,
    "run": Field(identifier, ""),
    "compare": Field(identifier, ""),
}
# What a choice brings along: another choice brings its own.
FOLLOWERS = {"recipe": tuple(KNOBS), "task": ("learner", "task_seq_len", "n_steps")}


def telling_measure(values: Mapping[str, Any]) -> str:
    """The measure of a head that a task is about."""
    return "induction" if values.get("task") == "induction" else "previous_token"
