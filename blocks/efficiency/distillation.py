"""A small student taught by a trained teacher, and the same student alone."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Any

from blocks.cost.passes import PassKind, operations, total_flops
from blocks.efficiency.compression import Calibrated
from blocks.model.config import ModelConfig
from blocks.model.faults import N_, Fault
from blocks.training.distillation import guidance_flops
from blocks.training.failures import divergence
from blocks.training.loop import Training
from blocks.training.spec import TrainingSpec
from blocks.training.teaching import Distillation, Teacher, Teaching

N_UPDATES, LOOK_EVERY, N_HELD_OUT = 200, 20, 2
SEEDS = (0, 1, 2, 3, 4)


class StudentSize(StrEnum):
    """What the student has less of: layers, width (d_model and heads), or both."""

    HALF_LAYERS = "half_layers"
    HALF_WIDTH = "half_width"
    HALF_BOTH = "half_both"


@dataclass(frozen=True)
class Shape:
    """Sizes of a student that its teacher does not set.

    An encoder–decoder has so many layers in each stack; heads are d_model / n_heads wide.
    """

    n_layers: int
    d_model: int
    n_heads: int
    d_ff: int

    def changes(self, teacher: ModelConfig) -> dict[str, Any]:
        """What they change of the configuration of a teacher."""
        n_decoder_layers = self.n_layers if teacher.n_decoder_layers else None
        own = {"n_decoder_layers": n_decoder_layers, "n_kv_heads": None, "d_head": None}
        return {**vars(self), **own}


Size = StudentSize | Shape


class Way(StrEnum):
    """How a student learns: from its teacher; alone on as many tokens, with as many FLOPs, as long.

    As long: for as many seconds, as they were measured on one processor.
    """

    TAUGHT = "taught"
    ALONE = "alone"
    ALONE_LONGER = "alone_longer"
    ALONE_AS_LONG = "alone_as_long"


COUNTED = (Way.TAUGHT, Way.ALONE, Way.ALONE_LONGER)
"""The ways that are the same on every processor."""


@dataclass(frozen=True)
class TimeRatio:
    """The time of an update with the teacher over that of one alone, and where it is so."""

    value: float
    processor: str


@dataclass(frozen=True)
class Student:
    """One training: the held-out loss in nats at each look (`updates`), the score at its end.

    `processor`: the one whose time says how long it is, where time does.
    """

    way: Way
    seed: int
    updates: tuple[int, ...]
    losses: tuple[float, ...]
    score: float
    processor: str = ""


def student_config(teacher: ModelConfig, size: Size) -> ModelConfig:
    """A model of the same kind: half of it, rounded down, at least one layer and head; or a shape.

    Of a shape that cannot be built it is the nearest. Raises `ConfigError` where there is none.
    """
    if isinstance(size, Shape):
        return teacher.nearest(**size.changes(teacher))[0]
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


def student_spec(
    model: Calibrated,
    size: Size,
    *,
    n_updates: int,
    seed: int = 0,
    teaching: Teaching | None = None,
) -> TrainingSpec:
    """Task and recipe of a model, shortened, for its student; alone without `teaching`."""
    spec = model.spec
    warmup = min(spec.recipe.warmup_steps, n_updates)
    recipe = spec.recipe.replace(n_steps=n_updates, warmup_steps=warmup, n_eval_batches=1)
    config = student_config(model.file.config, size)
    return TrainingSpec(config=config, task=spec.task, recipe=recipe, seed=seed, teaching=teaching)


def teacher_faults(model: Calibrated, teacher: Teacher) -> Iterator[Fault]:
    """Why a trained model cannot teach a student of another one: its task, or its tokens."""
    file, task = teacher.opened(), model.spec.task.kind
    if (its := Calibrated(file).spec.task.kind) != task:
        text = N_(
            "The teacher's task ({teacher}) is not the student's ({student}): choose a "
            "teacher that was trained on {student}"
        )
        yield Fault(text, {"teacher": str(its), "student": str(task)})
    elif file.tokenizer.to_json() != model.file.tokenizer.to_json():
        text = N_(
            "This teacher has a different vocabulary: the same token ids stand for other "
            "tokens. Choose a teacher that uses the student's vocabulary"
        )
        yield Fault(text)


def longer(model: Calibrated, size: Size, teaching: Teaching, n_updates: int) -> int:
    """Updates of the student alone that cost as many FLOPs as `n_updates` with the teacher."""
    n, student = model.task.seq_len, student_config(model.file.config, size)
    alone = total_flops(operations(student, PassKind.TRAINING, n=n))
    reading = total_flops(operations(teaching.teacher.config, PassKind.FORWARD, n=n))
    beside = reading + guidance_flops(student, teaching, n)
    return round(n_updates * (alone + beside) / alone)


@dataclass(frozen=True, kw_only=True)
class Students:
    """All trainings as a series: each seed with its teacher, alone, and alone for longer.

    `pattern`: the trained model whose task, recipe and kind the student has; the teacher's own
    unless told otherwise. `time`: where it is known, each seed learns alone for as long, too.
    `budget`: the memory allowed, in bytes.
    """

    teacher: Teacher
    pattern: Teacher | None = None
    size: Size = StudentSize.HALF_LAYERS
    how: Distillation = Distillation()
    seeds: tuple[int, ...] = SEEDS
    ways: tuple[Way, ...] = COUNTED
    time: TimeRatio | None = None
    n_updates: int = N_UPDATES
    budget: int | None = None
    device: str = "cpu"
    is_timed: bool = False

    @property
    def cases(self) -> tuple[tuple[int, Way], ...]:
        """Each training, in order."""
        ways = self.ways if self.time is None else (*self.ways, Way.ALONE_AS_LONG)
        return tuple((seed, way) for seed in self.seeds for way in ways)

    @property
    def n_steps(self) -> int:
        """How many trainings there are."""
        return len(self.cases)

    def results(self, done: Sequence[Any]) -> Iterator[Student]:
        """The trainings after those that are done. Raises `ConfigError` beyond the budget."""
        for seed, way in self.cases[len(done) :]:
            yield self._trained(way, seed)

    def _trained(self, way: Way, seed: int) -> Student:
        model, n_updates = calibrated_teacher(self.pattern or self.teacher), self.n_updates
        teaching, processor = Teaching(teacher=self.teacher, how=self.how), ""
        if way is Way.ALONE_LONGER:
            n_updates = longer(model, self.size, teaching, n_updates)
        elif way is Way.ALONE_AS_LONG and self.time:
            n_updates, processor = round(n_updates * self.time.value), self.time.processor
        taught = teaching if way is Way.TAUGHT else None
        spec = student_spec(model, self.size, n_updates=n_updates, seed=seed, teaching=taught)
        found = _watched(Training(spec, budget=self.budget), model, way)
        return replace(found, processor=processor)


def _watched(training: Training, model: Calibrated, way: Way) -> Student:
    """Train to the end, asking the held-out questions of the model's task now and then."""
    examiner, n_updates = model.examiner, training.recipe.n_steps
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
def calibrated_teacher(teacher: Teacher) -> Calibrated:
    """A teacher with its task. Raises `ConfigError` where its weights are not here."""
    return Calibrated(teacher.opened())
