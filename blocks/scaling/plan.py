"""Which trainings make a set of isoFLOP valleys, small enough for a class: budgets times sizes.

A GPT of one layer that grows in width alone, on text of known entropy that never repeats, at rates
that follow its width (muP), each training with a cosine of its own to zero: where any of these is
missing, losses of so small models follow no common law.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, inf, isfinite
from typing import ClassVar, NamedTuple

import numpy as np

from blocks.corpora.markov import markov_source
from blocks.cost.chosen_shape import size_of
from blocks.cost.loss_fit import Trained
from blocks.cost.scaling_laws import Counted
from blocks.model.config import ModelConfig
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.kinds import Architecture, Initialization, NormKind, PositionKind
from blocks.training.events import Evaluation
from blocks.training.loop import Training
from blocks.training.recipe import Recipe
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import TaskConfig, TaskKind, build_task

SEQ_LEN, BATCH = 16, 32
TASK = TaskConfig(kind=TaskKind.MARKOV, seq_len=SEQ_LEN)
BUDGETS = (2e9, 5e9, 1.2e10, 3e10)  # FLOPs, 6·N·D
MIDDLE = 6e3, 1e10  # parameters near the bottom of the valley of so many FLOPs
N_SIZES, SPAN = 6, 3.0  # sizes of a budget, from 1 / SPAN to SPAN times the middle
STEP, BASE_WIDTH, RATE, WARMUP = 4, 32, 0.02, 5  # of widths; an n-th of the updates warms up


class Point(NamedTuple):
    """A training of one budget: its width, its updates and its seed."""

    flops: float
    d_model: int
    n_steps: int
    seed: int

    @property
    def spec(self) -> TrainingSpec:
        """All of it."""
        return TrainingSpec(
            config=gpt(self.d_model), task=TASK, recipe=recipe(self.n_steps), seed=self.seed
        )

    @property
    def n_tokens(self) -> int:
        """Tokens that are learned from."""
        return self.n_steps * BATCH * SEQ_LEN


class Measured(NamedTuple):
    """What a training came to: nats a token above the least that is possible, and seconds."""

    point: Point
    excess: float
    seconds: float

    def trained(self, counted: Counted) -> Trained:
        """The run as a law reads it."""
        size = size_of(gpt(self.point.d_model), counted, SEQ_LEN)
        return Trained(size, self.point.n_tokens, floor() + self.excess)


@lru_cache(maxsize=256)
def gpt(d_model: int, n_layers: int = 1) -> ModelConfig:
    """The model of this width, and depth."""
    return ModelConfig.from_flat(
        {
            "architecture": Architecture.GPT,
            "n_layers": n_layers,
            "d_model": d_model,
            "n_heads": 1,
            "attention_multiplier": BASE_WIDTH**0.5 / d_model,
            "vocab_size": build_task(TASK).vocab_size,
            "max_seq_len": SEQ_LEN,
            "norm_kind": NormKind.RMS_NORM,
            "position_kind": PositionKind.ROPE,
            "tie_embeddings": False,
            "initialization": Initialization.ZERO_WRITES,
            "dropout": 0.0,
        }
    )


def recipe(n_steps: int) -> Recipe:
    """One rate for all widths, and to zero at the end of each training."""
    return Recipe(
        n_steps=n_steps,
        batch_size=BATCH,
        learning_rate=RATE,
        base_width=BASE_WIDTH,
        beta1=0.6,  # of so few updates each should count soon
        beta2=0.95,
        weight_decay=0.0,
        warmup_steps=ceil(n_steps / WARMUP),
        final_share=0.0,
        n_eval_batches=1,
        eval_every=n_steps,
    )


@lru_cache
def floor() -> float:
    """The least loss that is possible on the text, in nats a token: exact."""
    return markov_source().least_loss(SEQ_LEN)


def points_of(flops: float, sizes: Sequence[float], seed: int) -> Iterator[Point]:
    """For each size the nearest model, with the tokens that remain for it."""
    widths = sorted({_width(size) for size in sizes})
    for d_model in widths:
        n_tokens = flops / 6 / size_of(gpt(d_model), Counted.ALL, SEQ_LEN)
        yield Point(flops, d_model, max(1, round(n_tokens / BATCH / SEQ_LEN)), seed)


def usual_sizes(flops: float) -> list[float]:
    """Sizes around the bottom of the valley, in equal factors."""
    size, at = MIDDLE
    middle = size * (flops / at) ** 0.5
    return [float(middle * SPAN**power) for power in np.linspace(-1, 1, N_SIZES)]


@lru_cache(maxsize=16)
def valley_points(seed: int = 0) -> tuple[Point, ...]:
    """All trainings of the valleys, the cheapest budget first."""
    return tuple(point for flops in BUDGETS for point in points_of(flops, usual_sizes(flops), seed))


def widths() -> tuple[int, int]:
    """The narrowest and the widest model of the valleys."""
    found = [point.d_model for point in valley_points()]
    return min(found), max(found)


@lru_cache(maxsize=256)
def _width(size: float) -> int:
    """The width of the model that is nearest in size, in powers."""
    widths = range(STEP, 1024, STEP)
    return min(widths, key=lambda d: abs(np.log(size_of(gpt(d), Counted.ALL, SEQ_LEN) / size)))


@dataclass(frozen=True)
class Trainings:
    """Points as work in another process, one training after the other."""

    points: tuple[Point, ...]

    device: ClassVar[str] = "cpu"  # so small a model is no faster on an accelerator
    is_timed: ClassVar[bool] = False

    @property
    def n_steps(self) -> int:
        """How many there are."""
        return len(self.points)

    def results(self, done: Sequence[Measured]) -> Iterator[Measured]:
        """Train those after the first ones."""
        yield from map(measured, self.points[len(done) :])


def measured(point: Point) -> Measured:
    """Train one. Raises `ConfigError` where it does not come to its end."""
    training = Training(point.spec)
    excess = excess_of(training)
    if not isfinite(excess):
        raise ConfigError([Fault(N_("A training run was stopped before it finished: try again"))])
    return Measured(point, excess, training.seconds)


def excess_of(training: Training) -> float:
    """Train to the end: nats above the least that is possible, infinite where it diverged."""
    excess = inf
    for event in training.events():
        if isinstance(event, Evaluation) and event.step == training.recipe.n_steps:
            excess = event.score
    return excess
