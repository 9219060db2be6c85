"""A small student taught by a trained teacher, and the same student alone.

Hinton et al. 2015, "Distilling the Knowledge in a Neural Network": beside the right answer the
student learns all probabilities that the teacher gives, softened by a temperature.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from blocks.cost.passes import PassKind, operations, total_flops
from blocks.efficiency.compression import Calibrated
from blocks.model.config import ModelConfig
from blocks.model.faults import ConfigError
from blocks.training.bounds import Bounds, bound_faults
from blocks.training.failures import divergence
from blocks.training.loop import Training
from blocks.training.loss import cross_entropy
from blocks.training.spec import TrainingSpec
from blocks.training.task import IGNORED, Batch
from blocks.weights.pocket import pocket

N_UPDATES, LOOK_EVERY, N_HELD_OUT = 200, 20, 2
SEEDS = (0, 1, 2, 3, 4)
BOUNDS: Bounds = {"temperature": (0.25, 64.0), "teacher_share": (0.0, 1.0)}


class StudentSize(StrEnum):
    """What the student has less of: layers, width (d_model and heads), or both."""

    HALF_LAYERS = "half_layers"
    HALF_WIDTH = "half_width"
    HALF_BOTH = "half_both"


class Way(StrEnum):
    """How a student learns: from its teacher, alone on as many tokens, alone with as many FLOPs."""

    TAUGHT = "taught"
    ALONE = "alone"
    ALONE_LONGER = "alone_longer"


@dataclass(frozen=True, kw_only=True)
class Distillation:
    """Which student, and how it is taught: the loss is

        (1 − teacher_share) · cross entropy + teacher_share · T² · KL(teacher ‖ student)

    with both distributions at temperature T (Hinton et al. 2015, section 2).
    """

    size: StudentSize = StudentSize.HALF_LAYERS
    temperature: float = 2.0
    teacher_share: float = 0.5

    def __post_init__(self) -> None:
        """Raises `ConfigError` with what cannot be and its mend."""
        values = {name: getattr(self, name) for name in BOUNDS}
        usual = {name: getattr(Distillation, name) for name in BOUNDS}
        if faults := [*bound_faults(values, usual, BOUNDS)]:
            raise ConfigError(faults)


@dataclass(frozen=True)
class Student:
    """One training: the held-out loss in nats at each look (`updates`), the score at its end."""

    way: Way
    seed: int
    updates: tuple[int, ...]
    losses: tuple[float, ...]
    score: float


def distillation_loss(
    logits: Tensor,
    teacher_logits: Tensor,
    targets: Tensor,
    how: Distillation,
    *,
    label_smoothing: float = 0.0,
) -> Tensor:
    """The loss of `Distillation`, a mean over the tokens asked for, in nats.

    Logits (batch, seq, vocab_size), targets (batch, seq), IGNORED where nothing is asked. T² keeps
    the gradient of the teacher's part as large at every temperature.
    """
    asked, t = targets != IGNORED, how.temperature
    ours, theirs = ((each[asked].float() / t).log_softmax(-1) for each in (logits, teacher_logits))
    soft = F.kl_div(ours, theirs, reduction="batchmean", log_target=True) * t**2
    hard = cross_entropy(logits, targets, label_smoothing=label_smoothing)
    return (1 - how.teacher_share) * hard + how.teacher_share * soft


class Taught(Training):
    """A training with a teacher, which only reads."""

    def __init__(self, spec: TrainingSpec, teacher: nn.Module, how: Distillation, **more: Any):
        super().__init__(spec, **more)
        self.teacher, self.how = teacher, how

    def loss(self, logits: Tensor, batch: Batch) -> Tensor:
        """Labels and teacher."""
        with torch.no_grad():
            said = self.teacher(*batch.read)
        smoothing = self.recipe.label_smoothing
        return distillation_loss(logits, said, batch.targets, self.how, label_smoothing=smoothing)


def student_config(teacher: ModelConfig, size: StudentSize) -> ModelConfig:
    """A smaller model of the same kind: half of it, rounded down, at least one layer and head."""
    changes: dict[str, Any] = {}
    if size is not StudentSize.HALF_WIDTH:
        changes["n_layers"] = max(1, teacher.n_layers // 2)
        if teacher.n_decoder_layers:
            changes["n_decoder_layers"] = max(1, teacher.n_decoder_layers // 2)
    if size is not StudentSize.HALF_LAYERS:
        n_heads = max(1, teacher.n_heads // 2)
        width = {"d_model": n_heads * teacher.d_head, "n_heads": n_heads, "d_head": teacher.d_head}
        changes |= {**width, "n_kv_heads": None, "d_ff": max(1, teacher.d_ff // 2)}
    return teacher.replace(**changes)


def student_spec(teacher: Calibrated, how: Distillation, seed: int, n_updates: int) -> TrainingSpec:
    """The teacher's own task and recipe, shortened, for the student."""
    spec = teacher.spec
    warmup = min(spec.recipe.warmup_steps, n_updates)
    recipe = spec.recipe.replace(n_steps=n_updates, warmup_steps=warmup, n_eval_batches=1)
    config = student_config(spec.config, how.size)
    return TrainingSpec(config=config, task=spec.task, recipe=recipe, seed=seed)


def longer(teacher: Calibrated, how: Distillation, n_updates: int) -> int:
    """Updates of the student alone that cost as many FLOPs as `n_updates` with the teacher."""
    n = teacher.examiner.task.seq_len
    config = student_config(teacher.spec.config, how.size)
    taught = total_flops(operations(config, PassKind.TRAINING, n=n))
    reading = total_flops(operations(teacher.spec.config, PassKind.FORWARD, n=n))
    return round(n_updates * (taught + reading) / taught)


@dataclass(frozen=True, kw_only=True)
class Students:
    """All trainings as a series: each seed with its teacher, alone, and alone for longer.

    `teacher`: the name of a model that ships with us. `budget`: the memory allowed, in bytes.
    """

    teacher: str
    how: Distillation
    seeds: tuple[int, ...] = SEEDS
    n_updates: int = N_UPDATES
    budget: int | None = None
    device: str = "cpu"
    is_timed: bool = False

    @property
    def n_steps(self) -> int:
        """How many trainings there are."""
        return len(Way) * len(self.seeds)

    def results(self, done: Sequence[Any]) -> Iterator[Student]:
        """The trainings after those that are done. Raises `ConfigError` beyond the budget."""
        each = [(seed, way) for seed in self.seeds for way in Way]
        for seed, way in each[len(done) :]:
            yield self._trained(way, seed)

    def _trained(self, way: Way, seed: int) -> Student:
        teacher = opened_teacher(self.teacher)
        n_updates = self.n_updates
        if way is Way.ALONE_LONGER:
            n_updates = longer(teacher, self.how, n_updates)
        spec = student_spec(teacher, self.how, seed, n_updates)
        if way is Way.TAUGHT:
            training: Training = Taught(spec, teacher.model, self.how, budget=self.budget)
        else:
            training = Training(spec, budget=self.budget)
        return _watched(training, teacher, way)


def _watched(training: Training, teacher: Calibrated, way: Way) -> Student:
    """Train to the end, asking the teacher's own held-out questions now and then."""
    examiner, n_updates = teacher.examiner, training.recipe.n_steps
    updates, losses = [0], [examiner.held_out_loss(training.model, N_HELD_OUT)]
    for update in range(1, n_updates + 1):
        if not math.isfinite(training.update()):
            raise divergence(training.recipe, update)
        if update % LOOK_EVERY == 0 or update == n_updates:
            updates.append(update)
            losses.append(examiner.held_out_loss(training.model, N_HELD_OUT))
    score = examiner.score(training.model)
    return Student(way, training.spec.seed, tuple(updates), tuple(losses), score)


@lru_cache(maxsize=4)
def opened_teacher(name: str) -> Calibrated:
    """A model that ships with us, and its task."""
    return Calibrated(pocket(name))
