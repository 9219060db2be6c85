"""What a link says of a training: what is learned, how, and which run is watched."""

from collections.abc import Mapping
from typing import Any

from blocks.corpora.stories import Language
from blocks.model.kinds import Architecture
from blocks.training.recipe import BOUNDS, RECIPES, OptimizerKind, ScheduleKind
from blocks.training.tasks import LEARNERS, MODULAR, TaskKind, TokenKind
from pages.server.readers import Field, choice, identifier, whole, within
from pages.words.language import browser_language

CORPORA, LOOKED_AT = ("python", "own"), ("task", "own")
HEAD_MEASURES = ("previous_token", "induction", "first_token", "same_token")
# Updates after which the fast recipe has learned it; the others bring their own number.
USUAL_STEPS = {"sort": 1000, "reverse": 400, "copy": 400, "addition": 800, "masked_words": 600}
USUAL_STEPS |= {"modular_addition": 2000, "modular_subtraction": 2000, "parity": 1000}
STEPS_OF_PAIRS = {"sort": 600, "reverse": 400, "copy": 400, "addition": 600, "translation": 300}
SHORT_ROWS = 64  # of a few tokens, so that many of them make an update
LONGEST_ROW = 512
OF_FEW_TOKENS = (TaskKind.ADDITION, *MODULAR, TaskKind.PARITY, TaskKind.BRACKETS)


def _language(values: Mapping[str, Any]) -> str:
    return values.get("lang") or browser_language()


def _usual_length(values: Mapping[str, Any]) -> int:
    return _task(values).usual_seq_len


def _usual_learner(values: Mapping[str, Any]) -> str:
    return str(_task(values).architectures[0])


def _task(values: Mapping[str, Any]) -> TaskKind:
    return TaskKind(values.get("task", TaskKind.STORIES))


def _is_of_pairs(values: Mapping[str, Any]) -> bool:
    both, choices = Architecture.ENCODER_DECODER, _task(values).architectures
    return both in choices and values.get("learner", str(choices[0])) == both


def _of_recipe(name: str) -> Field:
    """A knob of the recipe: the recipe that was chosen says where it stands."""
    is_whole = isinstance(RECIPES["fast"].flat()[name], int)
    least, most = BOUNDS[name]
    read = whole(int(least), int(most)) if is_whole else within(float(least), float(most))
    return Field(read, lambda values: RECIPES[values.get("recipe", "fast")].flat()[name])


def _usual_steps(values: Mapping[str, Any]) -> int:
    recipe = values.get("recipe", "fast")
    usual = STEPS_OF_PAIRS if _is_of_pairs(values) else USUAL_STEPS
    steps = RECIPES[recipe].n_steps
    return usual.get(_task(values), steps) if recipe == "fast" else steps


def _usual_rows(values: Mapping[str, Any]) -> int:
    usual = RECIPES[values.get("recipe", "fast")].batch_size
    return SHORT_ROWS if _is_of_pairs(values) or _task(values) in OF_FEW_TOKENS else usual


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
    "batch_size": Field(_of_recipe("batch_size").read, _usual_rows),
    "optimizer": Field(
        choice(OptimizerKind), lambda values: str(RECIPES[values.get("recipe", "fast")].optimizer)
    ),
    "schedule": Field(
        choice(ScheduleKind), lambda values: str(RECIPES[values.get("recipe", "fast")].schedule)
    ),
}
RUN = {"run": Field(identifier, "")}
TRAINING = {
    **TASK,
    "recipe": Field(choice(RECIPES), "fast"),
    **KNOBS,
    **RUN,
    "compare": Field(identifier, ""),
}
# What a choice brings along: another choice brings its own.
OF_LEARNER = ("n_steps", "batch_size")
FOLLOWERS = {
    "recipe": tuple(KNOBS),
    "task": ("learner", "task_seq_len", *OF_LEARNER),
    "learner": OF_LEARNER,
}


def telling_measure(values: Mapping[str, Any]) -> str:
    return "induction" if values.get("task") == "induction" else "previous_token"
