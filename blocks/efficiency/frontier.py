"""Smaller variants of one model: bytes in a file against what it still can do."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import torch

from blocks.cost.pareto import pareto_front
from blocks.cost.timing import Times, measure_times
from blocks.efficiency.compression import Calibrated, Compression, compress, compressed_config
from blocks.efficiency.names import compression_of, name_of
from blocks.model.config import ModelConfig
from blocks.model.faults import ConfigError
from blocks.model.randomness import generator
from blocks.weights.model_file import ModelFile

N_HELD_OUT, N_SCORES = 4, 2
READY = (
    "",
    *("int8", "int6", "int4", "int4-group32", "int3-group32", "int3-group32-awq"),
    *("int3-group32-gptq", "int2-group16", "int2-group16-gptq"),
    *("int4-keep3", "int3-keep3", "int3-group32-keep3"),
    *("sparse30", "sparse50", "sparse50-wanda", "sparse50-wanda-2:4", "sparse70"),
    *("sparse50-random", "heads1-wanda", "units25-wanda", "units50-wanda", "units50-random"),
    *("layers1", "units25-wanda.int4-group32"),
)
"""What is measured unless the reader asks for something else; nothing done comes first."""


class Method(StrEnum):
    """What a recipe does, for a legend."""

    ORIGINAL = "original"
    QUANTIZED = "quantized"
    MASKED = "masked"
    TAKEN_APART = "taken_apart"
    SEVERAL = "several"


class FrontColors(StrEnum):
    """What the colour of a variant says."""

    METHOD = "method"
    TIME = "time"


def method(how: Compression) -> Method:
    """The kind of a recipe."""
    takes_apart = bool(how.removed_heads or how.removed_units or how.removed_layers)
    done = [
        (takes_apart, Method.TAKEN_APART),
        (bool(how.sparsity), Method.MASKED),
        (how.quantization is not None, Method.QUANTIZED),
    ]
    kinds = [kind for is_done, kind in done if is_done]
    return Method.SEVERAL if len(kinds) > 1 else (kinds or [Method.ORIGINAL])[0]


@dataclass(frozen=True)
class Variant:
    """What became of a model by one recipe, measured on held-out questions of its own task.

    `scores` are those of several draws of questions, `held_out_loss` is in nats a token, `seconds`
    those of one batch of `n_tokens` tokens in float32: rounded weights run as what they stand for.
    """

    name: str
    method: Method
    n_bytes: int
    n_parameters: int
    held_out_loss: float
    scores: tuple[float, ...]
    seconds: float
    n_tokens: int

    @property
    def score(self) -> float:
        """The mean over the draws."""
        return sum(self.scores) / len(self.scores)

    @property
    def spread(self) -> float:
        """The standard error of the mean."""
        n = len(self.scores)
        squares = sum((each - self.score) ** 2 for each in self.scores)
        return math.sqrt(squares / (n * (n - 1))) if n > 1 else math.nan


def measure_variant(model: Calibrated, name: str) -> Variant:
    """Make a variant and ask it. Raises `ConfigError` where its recipe cannot be."""
    return measure_compression(model, compression_of(name))


def measure_compression(model: Calibrated, how: Compression) -> Variant:
    """The same of a recipe that may have no name."""
    file = compress(model, how)
    return examined(model, how, file, measure_times(one_batch(model, file), "cpu"))


def one_batch(model: Calibrated, file: ModelFile) -> Callable[[], object]:
    """What is timed: a batch of held-out questions read by what lies in a file."""
    logits_of = model.examiner.logits_of(file.build())
    return lambda: logits_of(*model.examiner.batches[0].read)


def score_draws(model: Calibrated) -> Iterator[torch.Generator]:
    """What the questions of a score are drawn by, the same for every variant."""
    return (generator(model.spec.seed, "score", str(i)) for i in range(N_SCORES))


def examined(model: Calibrated, how: Compression, file: ModelFile, times: Times) -> Variant:
    """Ask what a recipe has made of a model."""
    examiner, built = model.examiner, file.build()
    logits_of = examiner.logits_of(built)
    return Variant(
        name=name_of(how),
        method=method(how),
        n_bytes=len(file.to_bytes()),
        n_parameters=sum(tensor.numel() for tensor in file.tensors.values()),
        held_out_loss=examiner.held_out_loss(built, n_batches=N_HELD_OUT),
        scores=tuple(examiner.task.score(logits_of, draw) for draw in score_draws(model)),
        seconds=times.fast,
        n_tokens=examiner.batches[0].n_tokens,
    )


def ready(config: ModelConfig) -> tuple[str, ...]:
    """The recipes of the ready set that this model can take."""
    return tuple(name for name in READY if can_take(config, compression_of(name)))


def can_take(config: ModelConfig, how: Compression) -> bool:
    """Whether anything of a model is left by a recipe."""
    try:
        compressed_config(config, how)
    except ConfigError:
        return False
    return True


@dataclass(frozen=True)
class FrontierFacts:
    """All variants that were measured, the original first.

    `is_share`: whether the score is a share of what was asked; where it is not, the held-out loss
    says how good a variant is. `shown`: the name of the one that is looked at elsewhere.
    """

    variants: tuple[Variant, ...]
    score_name: str
    is_share: bool
    colors: FrontColors = FrontColors.METHOD
    shown: str = ""

    @property
    def original(self) -> Variant:
        """The model as it was."""
        return self.variants[0]

    def quality(self, variant: Variant) -> float:
        """Score, or held-out loss in nats."""
        return variant.score if self.is_share else variant.held_out_loss

    def lost(self, variant: Variant) -> float:
        """How much worse it is than the original."""
        change = self.quality(variant) - self.quality(self.original)
        return -change if self.is_share else change

    @property
    def frontier(self) -> tuple[Variant, ...]:
        """Those that no other beats in both bytes and quality, the smallest first."""
        points = np.array([(each.n_bytes, self.lost(each)) for each in self.variants])
        is_best = pareto_front(points, (False, False))
        best = [each for each, is_on in zip(self.variants, is_best, strict=True) if is_on]
        return tuple(sorted(best, key=lambda each: each.n_bytes))

    def smallest(self, most_lost: float) -> Variant:
        """The smallest file that has lost at most so much; of equal ones the least loss."""
        good = [each for each in self.variants if self.lost(each) <= most_lost]
        return min(good, key=lambda each: (each.n_bytes, each.held_out_loss))

    def time_ratio(self, variant: Variant) -> float:
        """Seconds of a batch over those of the original."""
        return variant.seconds / self.original.seconds

    def times_smaller(self, variant: Variant) -> float:
        """Bytes of the original over those of a variant."""
        return self.original.n_bytes / variant.n_bytes
