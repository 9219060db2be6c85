"""Training on tasks with known answers: recipes, optimizers, the loop and its log."""

from blocks.training.loop import Training, train
from blocks.training.recipe import Recipe
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import TaskConfig, build_task

__all__ = ["Recipe", "TaskConfig", "Training", "TrainingSpec", "build_task", "train"]
