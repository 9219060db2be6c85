"""Does a learning rate carry over to a wider model? The standard way against muP.

Yang et al. 2022, "Tensor Programs V" (arXiv:2203.03466), table 3 for AdamW: matrices learn at a
rate that falls as 1 / width, tables of embeddings, norms and biases at the same one, and the
unembedding begins at zero. Scores would be divided by d_head; heads here keep their width, so that
this changes nothing. Muon makes each update of a matrix orthogonal, which is of the right size at
every width already (Bernstein 2025); the rest, which AdamW steps, follows the same table.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from blocks.model.config import ModelConfig
from blocks.model.kinds import Architecture, Initialization
from blocks.model.presets import PRESETS
from blocks.model.randomness import generator
from blocks.observe.recording import record
from blocks.scaling.plan import TASK, excess_of
from blocks.training.loop import Training
from blocks.training.recipe import OptimizerKind, Recipe, ScheduleKind
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import build_task

GROWTH = 1, 2, 4, 8  # widths, in heads
MOST_LAYERS, WIDEST_HEAD, N_ROWS = 2, 16, 16
N_UPDATES, RATE = 6, 3e-3  # of the check
RATE_STEP = 2.0
RATES = tuple(RATE_STEP**-k for k in range(9, 2, -1))  # that are tried
N_TRIED, BATCH = 100, 32
OPTIMIZERS = OptimizerKind.ADAMW, OptimizerKind.MUON


class Scheme(StrEnum):
    """What changes with the width: nothing, or as maximal update parametrization asks."""

    STANDARD = "standard"
    MUP = "mup"


def head_of(config: ModelConfig) -> int:
    """The width of a head, small enough that all trainings take minutes."""
    return min(config.d_head, WIDEST_HEAD)


def widths_of(config: ModelConfig) -> tuple[int, ...]:
    """Four widths, each twice the one before; heads keep theirs."""
    return tuple(n * head_of(config) for n in GROWTH)


@lru_cache(maxsize=64)
def widened(config: ModelConfig, width: int, scheme: Scheme) -> ModelConfig:
    """This configuration as a GPT of another width, for text of known entropy.

    What the reader has set stays: norms, activation, positions, experts. Its depth is at most two
    layers, input and output have tables of their own, and nothing is dropped.
    """
    d_ff = round(config.d_ff / config.d_model * width)
    changed = config.replace(
        architecture=Architecture.GPT,
        n_layers=min(config.n_layers, MOST_LAYERS),
        d_model=width,
        d_head=None,
        n_heads=width // head_of(config),
        n_kv_heads=None,
        d_ff=d_ff,
        vocab_size=build_task(TASK).vocab_size,
        max_seq_len=TASK.seq_len,
        tie_embeddings=False,
        dropout=0.0,
    )
    begins = {Scheme.MUP: Initialization.ZERO_WRITES, Scheme.STANDARD: Initialization.PYTORCH}
    return changed.replace(initialization=begins[scheme], scale_embeddings=False)


def narrowest(config: ModelConfig) -> ModelConfig:
    """What all trainings of a configuration grow from: others may grow from the same."""
    return widened(config, widths_of(config)[0], Scheme.STANDARD)


def spec_of(
    config: ModelConfig, width: int, scheme: Scheme, recipe: Recipe, seed: int
) -> TrainingSpec:
    """One training of one width; under muP its matrices follow the smallest one."""
    base = widths_of(config)[0] if scheme is Scheme.MUP else 0
    return TrainingSpec(
        config=widened(config, width, scheme),
        task=TASK,
        recipe=recipe.replace(base_width=base),
        seed=seed,
    )


class Moved(NamedTuple):
    """By how much (RMS) the last stream and the logits have moved after each of some updates."""

    scheme: Scheme
    width: int
    stream: tuple[float, ...]
    logits: tuple[float, ...]


@dataclass(frozen=True)
class CoordinateCheck:
    """How far a few updates move what a model computes, for each width under both schemes."""

    config: ModelConfig
    optimizer: OptimizerKind
    seed: int = 0

    device: ClassVar[str] = "cpu"
    is_timed: ClassVar[bool] = False

    @property
    def asked(self) -> tuple[tuple[Scheme, int], ...]:
        """Each scheme with each width."""
        return tuple((scheme, width) for scheme in Scheme for width in widths_of(self.config))

    @property
    def n_steps(self) -> int:
        """How many models are looked at."""
        return len(self.asked)

    def results(self, done: Sequence[Moved]) -> Iterator[Moved]:
        """Those after the first ones. Raises `ConfigError` where a width cannot be."""
        for scheme, width in self.asked[len(done) :]:
            yield moved(spec_of(self.config, width, scheme, self.recipe, self.seed))._replace(
                scheme=scheme
            )

    @property
    def recipe(self) -> Recipe:
        """A few updates at one rate."""
        return Recipe(
            n_steps=N_UPDATES,
            batch_size=BATCH,
            optimizer=self.optimizer,
            learning_rate=RATE,
            weight_decay=0.0,
            schedule=ScheduleKind.CONSTANT,
            warmup_steps=0,
            n_eval_batches=1,
        )


def moved(spec: TrainingSpec) -> Moved:
    """How far each update moves the last stream and the logits from where they began."""
    training = Training(spec)
    rows = training.task.held_out(N_ROWS, generator(spec.seed, "coordinates")).token_ids
    assert isinstance(rows, Tensor)
    last = spec.config.n_layers - 1

    def seen() -> tuple[Tensor, Tensor]:
        with torch.no_grad():
            found = record(training.model, rows, keep=(f"layers.{last}.resid_post",))
        return found.tensor("resid_post", last), found.output

    first = seen()
    stream: list[float] = []
    logits: list[float] = []
    for _update in range(spec.recipe.n_steps):
        training.update()
        now = seen()
        for before, after, found in zip(first, now, (stream, logits), strict=True):
            found.append(float((after - before).square().mean().sqrt()))
    return Moved(Scheme.STANDARD, spec.config.d_model, tuple(stream), tuple(logits))


def slope(widths: Sequence[int], sizes: Sequence[float]) -> float:
    """With which power of the width a size grows: 0 where it stays."""
    return float(np.polyfit(np.log(widths), np.log(sizes), 1)[0])


class Tried(NamedTuple):
    """The loss of one width at one rate; infinite where it diverged."""

    scheme: Scheme
    width: int
    rate: float
    loss: float


@dataclass(frozen=True)
class RateSearch:
    """Each width at each rate, under both schemes: where is the best rate?"""

    config: ModelConfig
    optimizer: OptimizerKind
    seed: int = 0

    device: ClassVar[str] = "cpu"
    is_timed: ClassVar[bool] = False

    @property
    def asked(self) -> tuple[tuple[Scheme, int, float], ...]:
        """Each scheme and width with each rate, the narrowest first."""
        return tuple(
            (scheme, width, rate)
            for width in widths_of(self.config)
            for scheme in Scheme
            for rate in RATES
        )

    @property
    def n_steps(self) -> int:
        """How many trainings there are."""
        return len(self.asked)

    @property
    def n_of_width(self) -> int:
        """How many trainings one width has."""
        return len(Scheme) * len(RATES)

    def results(self, done: Sequence[Tried]) -> Iterator[Tried]:
        """Those after the first ones."""
        for scheme, width, rate in self.asked[len(done) :]:
            spec = spec_of(self.config, width, scheme, self.recipe(rate), self.seed)
            yield Tried(scheme, width, rate, excess_of(Training(spec)))

    def recipe(self, rate: float) -> Recipe:
        """A short training to its end; with Muon the rate is that of the layers' matrices."""
        name = "muon_learning_rate" if self.optimizer is OptimizerKind.MUON else "learning_rate"
        usual = Recipe(
            n_steps=N_TRIED,
            batch_size=BATCH,
            optimizer=self.optimizer,
            learning_rate=0.02,
            beta1=0.6,
            beta2=0.95,
            weight_decay=0.0,
            warmup_steps=N_TRIED // 5,
            final_share=0.0,
            n_eval_batches=1,
            eval_every=N_TRIED,
        )
        return usual.replace(**{name: rate})


def shipped_searches() -> tuple[RateSearch, ...]:
    """Those that ship: of a GPT as GPT-2 is built, with each optimizer."""
    config = narrowest(PRESETS["gpt2-small"])
    return tuple(RateSearch(config, optimizer) for optimizer in OPTIMIZERS)


def best_rates(found: Sequence[Tried], scheme: Scheme) -> dict[int, float]:
    """The rate with the least loss of each width, of those that were tried."""
    of_scheme = [each for each in found if each.scheme is scheme]
    widths = sorted({each.width for each in of_scheme})
    return {
        width: min((each for each in of_scheme if each.width == width), key=lambda e: e.loss).rate
        for width in widths
    }
