"""The shell command that repeats a training run."""

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from blocks.training.fast_model import fast_config
from blocks.training.recipe import RECIPES, Recipe
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import Language, TaskConfig, TokenKind, build_task

BY_OPTION = ("n_steps", "architecture", "vocab_size", "max_seq_len")


def command_line(spec: TrainingSpec, *, text_file: str = "text.txt") -> str:
    """Write the command that trains `spec`; the user's own text is read from a file."""
    preset = nearest_recipe(spec.recipe)
    usual = fast_config(build_task(spec.task)).flat() | RECIPES[preset].flat()
    wanted = spec.config.flat() | spec.recipe.flat()
    words = [
        *_task_options(spec.task, text_file),
        *("--preset", preset, "--steps", str(spec.recipe.n_steps)),
        *("--seed", str(spec.seed), "--device", spec.device),
        *_assignments(usual, wanted),
        *("--out", f"runs/{spec.task.kind}"),
    ]
    return shlex.join(["python", "-m", "blocks.training", *words])


def _task_options(task: TaskConfig, text_file: str) -> Iterator[str]:
    yield from ("--task", task.kind) if task.text is None else ("--text", text_file)
    yield from ("--seq-len", str(task.seq_len))
    if task.token_kind is not TokenKind.CHARACTERS:
        yield from ("--tokens", task.token_kind)
    if task.language is not Language.ENGLISH:
        yield from ("--language", task.language)
    if task.learner is not task.kind.architectures[0]:
        yield from ("--learner", task.learner)


def _assignments(usual: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[str]:
    """What differs from the recipe and the fast model, and what depends on the device."""
    for name, value in wanted.items():
        if name == "dtype" or (name not in BY_OPTION and value != usual[name]):
            yield from ("--set", f"{name}={value}")


def nearest_recipe(recipe: Recipe) -> str:
    """The known recipe that differs in the fewest fields."""
    values = recipe.flat()

    def n_changes(name: str) -> int:
        return sum(value != values[field] for field, value in RECIPES[name].flat().items())

    return min(RECIPES, key=n_changes)
