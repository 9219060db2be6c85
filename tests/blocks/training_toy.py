"""A training that takes milliseconds."""

from typing import Any

from blocks import ModelConfig
from blocks.training.events import Ended, Evaluation, Event, Step
from blocks.training.recipe import DEFAULTS, Recipe
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import TaskConfig, TaskKind, build_task

TASK = TaskConfig(kind=TaskKind.COPY, seq_len=12)
SHORT = {"n_steps": 10, "batch_size": 4, "warmup_steps": 2, "n_eval_batches": 2, "eval_every": 5}


def toy_config(**changes: Any) -> ModelConfig:
    task = build_task(TASK)
    sizes = {"architecture": "gpt", "n_layers": 2, "d_model": 16, "n_heads": 2, "dropout": 0.1}
    tokens = {"vocab_size": task.vocab_size, "max_seq_len": task.seq_len}
    return ModelConfig.from_flat(sizes | tokens | changes)


def toy_spec(*, seed: int = 0, **changes: Any) -> TrainingSpec:
    """A short training, changed by the names of the recipe's and the model's fields."""
    recipe = {name: value for name, value in changes.items() if name in DEFAULTS}
    config = {name: value for name, value in changes.items() if name not in DEFAULTS}
    return TrainingSpec(
        config=toy_config(**config), task=TASK, recipe=Recipe().replace(**SHORT | recipe), seed=seed
    )


def losses(events: list[Event]) -> list[float]:
    return [event.loss for event in events if isinstance(event, Step)]


def evaluations(events: list[Event]) -> list[Evaluation]:
    return [event for event in events if isinstance(event, Evaluation)]


def ended(events: list[Event]) -> Ended:
    *before, last = events
    assert isinstance(last, Ended)
    assert not any(isinstance(event, Ended) for event in before)
    return last
