"""A small model with the task that it would be measured on, for whoever makes it smaller."""

import torch
from toy import toy

from blocks import ModelConfig, build
from blocks.efficiency.compression import Calibrated
from blocks.model.randomness import generator
from blocks.training import TaskConfig, TrainingSpec
from blocks.training.recipe import Recipe
from blocks.training.tasks import build_task
from blocks.weights.model_file import Card, ModelFile
from blocks.weights.tensors import read_weights

TASK = TaskConfig(kind="sort", seq_len=6, architecture="encoder")


def config_of(**changes) -> ModelConfig:
    """Three layers of four heads, and eleven tokens."""
    return toy(vocab_size=11, n_layers=3, n_heads=4, d_model=16, **changes)


def weights_of(config: ModelConfig) -> dict[str, torch.Tensor]:
    """Drawn, each of them as large as any other."""
    model, draw = build(config, seed=2), generator(1, "weights")
    for each in model.parameters():
        each.data = torch.randn(each.shape, generator=draw) * 0.3
    return read_weights(model)


def sorter() -> Calibrated:
    """An encoder that has never learned to sort, and is asked to."""
    task = build_task(TASK)
    config = config_of(architecture="encoder").replace(vocab_size=task.vocab_size)
    return with_task(config, weights_of(config))


def with_task(config: ModelConfig, tensors: dict[str, torch.Tensor]) -> Calibrated:
    """These weights with the task of sorting."""
    task = build_task(TASK)
    spec = TrainingSpec(config=config, task=TASK, recipe=Recipe(batch_size=4, n_eval_batches=1))
    card = Card(
        task="sort",
        recipe=spec.plain(),
        seed=0,
        n_steps=0,
        seconds=0.0,
        held_out_loss=None,
        score=None,
        score_name="",
    )
    return Calibrated(ModelFile(config, task.tokenizer, card, tensors))
