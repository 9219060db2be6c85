"""Smaller variants of one model: bytes in a file against what it still can do."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from blocks.cost.parameters import total_parameters
from blocks.cost.pareto import pareto_front
from blocks.cost.timing import Times, measure_times
from blocks.efficiency.compression import Calibrated, Compression, compress, compressed_config
from blocks.efficiency.names import compression_of, name_of
from blocks.efficiency.one_token import one_more_token
from blocks.efficiency.packed import packed_names, run_packed
from blocks.model.config import ModelConfig
from blocks.model.faults import ConfigError
from blocks.model.layout import pack_weights_for_decoding
from blocks.model.models import Model
from blocks.weights.model_file import ModelFile

MOST_NATS = 700.0  # e to more is no number
INT8 = "int8.act8"
"""Weights and activations: what a packed kernel multiplies."""
READY = (
    "",
    *("int8", INT8, "int6", "int4", "int4-group32", "int3-group32", "int3-group32-awq"),
    *("int3-group32-gptq", "int2-group16", "int2-group16-gptq"),
    *("int4-keep3", "int3-keep3", "int3-group32-keep3"),
    *("sparse30", "sparse50", "sparse50-wanda", "sparse50-wanda-2:4", "sparse70"),
    *("sparse50-random", "heads1-wanda", "units25-wanda", "units50-wanda", "units50-random"),
    *("layers1", "units25-wanda.int4-group32"),
)
"""What is measured unless the reader asks for something else; nothing done comes first."""
OF_LARGE = (
    "",
    *("int8", INT8, "int6", "int4", "int4-group32", "int4-group32-awq", "int4-group32-gptq"),
    *("int3-group32", "int3-group32-awq", "int3-group32-gptq"),
    *("sparse30", "sparse50", "sparse50-wanda", "units25-wanda", "layers1"),
)
"""The same of a model that takes minutes, each of which must say something."""
LARGE = 20_000_000  # parameters


class Method(StrEnum):
    """What a recipe does, for a legend."""

    ORIGINAL = "original"
    QUANTIZED = "quantized"
    MASKED = "masked"
    TAKEN_APART = "taken_apart"
    SEVERAL = "several"


class FrontColors(StrEnum):
    """What the color of a variant shows."""

    METHOD = "method"
    TIME = "time"
    TOKEN_TIME = "token_time"


TIMED = FrontColors.TIME, FrontColors.TOKEN_TIME


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
    """What became of a model by one recipe, measured on what is held out of its task or text.

    `scores`: those of several draws of questions, or the bits of each token of a text, and then
    `accuracy`, the share of them that ranked first. `held_out_loss` is in nats per token, `seconds`
    those of one batch of `n_tokens` tokens. `token_seconds` are those of one token of a single row,
    as `one_more_token` reads it; None where they were not measured. `beside`: both of the original,
    where it was timed again beside this one. The products of `n_packed` matrices ran in int8, all
    others in float32: rounded weights as what they stand for.
    """

    name: str
    method: Method
    n_bytes: int
    n_parameters: int
    held_out_loss: float
    scores: tuple[float, ...]
    seconds: float
    n_tokens: int
    token_seconds: float | None = None
    beside: tuple[float, float] | None = None
    n_packed: int = 0
    accuracy: float | None = None

    @property
    def score(self) -> float:
        """The mean over the draws."""
        return sum(self.scores) / len(self.scores)

    def time(self, colors: FrontColors) -> float | None:
        """Seconds that a colour says, of a token or of a batch; None where it says none."""
        return _time_of((self.seconds, self.token_seconds), colors)

    def time_beside(self, colors: FrontColors) -> float | None:
        """The same of the original, timed again beside this one; None where it was not."""
        return _time_of(self.beside or (None, None), colors)

    @property
    def spread(self) -> float:
        """The standard error of the mean; of a text over its tokens, taken as independent."""
        n = len(self.scores)
        squares = sum((each - self.score) ** 2 for each in self.scores)
        return math.sqrt(squares / (n * (n - 1))) if n > 1 else math.nan

    @property
    def perplexity(self) -> float:
        """e to the loss: among how many tokens, all as likely, it would do as well."""
        return math.exp(min(self.held_out_loss, MOST_NATS))

    @property
    def accuracy_error(self) -> float:
        """The standard error of the accuracy over the tokens of a text, taken as independent."""
        share, n = self.accuracy or 0.0, len(self.scores)
        return math.sqrt(share * (1 - share) / (n - 1)) if n > 1 else math.nan

    def more_bits(self, other: "Variant") -> tuple[float, float]:
        """Bits per token beyond those of another, and the standard error, token by token.

        Of a text: both were asked for the same tokens, so that what makes those hard is left out.
        """
        more = np.subtract(self.scores, other.scores)
        return float(more.mean()), float(more.std(ddof=1) / math.sqrt(len(more)))


def _time_of(
    batch_and_token: tuple[float | None, float | None], colors: FrontColors
) -> float | None:
    return dict(zip(TIMED, batch_and_token, strict=True)).get(colors)


@dataclass(frozen=True, eq=False)
class Made:
    """What a recipe has made of a model: a file, and the model in it, laid out as it runs here.

    `n_packed`: of how many matrices the products run in int8.
    """

    how: Compression
    file: ModelFile
    built: Model
    n_packed: int


def make(model: Calibrated, how: Compression) -> Made:
    """Make a variant, in int8 where its recipe says so. Raises `ConfigError` where it cannot be."""
    file = compress(model, how)
    names = packed_names(file) if how.activations else ()
    built = pack_weights_for_decoding(file.build())
    return Made(how, file, run_packed(built, file, names), len(names))


def measure_variant(model: Calibrated, name: str) -> Variant:
    """Make a variant and ask it. Raises `ConfigError` where its recipe cannot be."""
    return measure_compression(model, compression_of(name))


def measure_compression(model: Calibrated, how: Compression) -> Variant:
    """The same by the recipe itself."""
    made = make(model, how)
    batch, token = (measure_times(work(model, made), "cpu") for work in (one_batch, one_token))
    return examined(model, made, batch, token)


def one_batch(model: Calibrated, made: Made) -> Callable[[], object]:
    """What is timed: a batch of held-out questions, read at once."""
    logits_of = model.examiner.logits_of(made.built)
    return lambda: logits_of(*model.examiner.batches[0].read)


def one_token(model: Calibrated, made: Made) -> Callable[[], object]:
    """What is timed: the last token of the first of them, alone."""
    return one_more_token(made.built, made.file.config, model.examiner.batches[0])


def examined(model: Calibrated, made: Made, batch: Times, token: Times) -> Variant:
    """Ask what a recipe has made of a model, beside the times that it was found to take."""
    how, file, asked = made.how, made.file, model.asked(made.built)
    return Variant(
        name=name_of(how),
        method=method(how),
        n_bytes=len(file.to_bytes()),
        n_parameters=sum(tensor.numel() for tensor in file.tensors.values()),
        held_out_loss=asked.held_out_loss,
        scores=asked.scores,
        accuracy=asked.accuracy,
        seconds=batch.fast,
        n_tokens=model.examiner.batches[0].n_tokens,
        token_seconds=token.fast,
        n_packed=made.n_packed,
    )


def ready(config: ModelConfig) -> tuple[str, ...]:
    """The recipes of the ready set that this model can take."""
    names = OF_LARGE if total_parameters(config) > LARGE else READY
    return tuple(name for name in names if can_take(config, compression_of(name)))


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
    says how good a variant is. `shown`: the name of the one that is looked at elsewhere. `own`:
    the names of those that the reader made; `apart`: of those that were timed elsewhere, or at
    another time, than the original. `read_ratio`: bytes of all its matrices in int8 over those in
    float32, what its time would be if reading them took all of it.
    """

    variants: tuple[Variant, ...]
    score_name: str
    is_share: bool
    colors: FrontColors = FrontColors.METHOD
    shown: str = ""
    own: frozenset[str] = frozenset()
    apart: frozenset[str] = frozenset()
    read_ratio: float | None = None

    @property
    def original(self) -> Variant:
        """The model as it was."""
        return self.variants[0]

    @property
    def is_of_text(self) -> bool:
        """Whether they were asked for the tokens of a text."""
        return self.original.accuracy is not None

    def quality(self, variant: Variant) -> float:
        """Score, or held-out loss in nats."""
        return variant.score if self.is_share else variant.held_out_loss

    def lost(self, variant: Variant) -> float:
        """How much worse it is than the original."""
        change = self.quality(variant) - self.quality(self.original)
        return -change if self.is_share else change

    @property
    def frontier(self) -> tuple[Variant, ...]:
        """The variants that no other beats in both bytes and quality, the smallest first."""
        points = np.array([(each.n_bytes, self.lost(each)) for each in self.variants])
        is_best = pareto_front(points, (False, False))
        best = [each for each, is_on in zip(self.variants, is_best, strict=True) if is_on]
        return tuple(sorted(best, key=lambda each: each.n_bytes))

    def smallest(self, most_lost: float) -> Variant:
        """The smallest file that has lost at most so much; of equal ones the least loss."""
        good = [each for each in self.variants if self.lost(each) <= most_lost]
        return min(good, key=lambda each: (each.n_bytes, each.held_out_loss))

    @property
    def is_of_time(self) -> bool:
        """Whether colours say a time, and that of the original is known."""
        return self.original.time(self.colors) is not None

    def time_ratio(self, variant: Variant, colors: FrontColors | None = None) -> float | None:
        """That time, or that of other colours, over the original's; None where it is not known."""
        colors = colors or self.colors
        seconds = variant.time(colors)
        of_original = variant.time_beside(colors) or self.original.time(colors)
        if seconds is None or of_original is None or variant.name in self.apart:
            return None
        return seconds / of_original

    @property
    def packed(self) -> Variant | None:
        """The first that ran in int8, where its times beside the original's are known."""
        ran = (each for each in self.variants if each.n_packed)
        return next((v for v in ran if all(self.time_ratio(v, kind) for kind in TIMED)), None)

    def times_smaller(self, variant: Variant) -> float:
        """Bytes of the original over those of a variant."""
        return self.original.n_bytes / variant.n_bytes
