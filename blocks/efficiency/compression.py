"""A trained model made smaller by a recipe of plain values, as a file that opens again."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import groupby
from typing import NamedTuple

import torch
from torch import Tensor, nn

from blocks.efficiency.activations import (
    ActivationRounding,
    rounded_inputs,
    smoothed,
    smoothing_scales,
)
from blocks.efficiency.calibration import Inputs, calibrate
from blocks.efficiency.exemption import check_exempt, rounded_names
from blocks.efficiency.matrix_places import layer_path, stands_in
from blocks.efficiency.mixed import blame, kept_rows, row_errors, with_kept_rows
from blocks.efficiency.own_text import SCORE_NAME, OwnText, own_text
from blocks.efficiency.pruning import Criterion, MaskPattern, Scope, masks
from blocks.efficiency.quantization import BITS, Quantization, RangeRule
from blocks.efficiency.rounding import Rounding, rounded
from blocks.efficiency.structured import (
    Choice,
    config_without_heads,
    config_without_layers,
    config_without_units,
    without_heads,
    without_layers,
    without_units,
)
from blocks.model.config import ModelConfig
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.models import Model, build
from blocks.model.randomness import generator
from blocks.text.tokenizer import Tokenizer
from blocks.training.bounds import Bounds, bound_faults
from blocks.training.evaluation import Examiner
from blocks.training.spec import TrainingSpec
from blocks.training.task import Batch, LogitsOf
from blocks.training.tasks import Task, TaskKind, build_task
from blocks.weights.model_file import ModelFile, trained
from blocks.weights.published import Published
from blocks.weights.quantized import QuantizedMatrix, Rounded
from blocks.weights.rounded_inputs import (
    EMBEDDING,
    RoundedInput,
    linear_weights,
    multiplied_weights,
)

N_BATCHES, N_BLAMED, N_HELD_OUT, N_SCORES = 4, 2, 4, 2
NO_TOKENIZER = N_(
    "This model came without a tokenizer.json, so it cannot read text: put the file beside "
    "its weights"
)
REMOVED: Bounds = {"sparsity": (0, 0.95), "removed_units": (0, 0.95), "removed_heads": (0, 1024)}
KEPT: Bounds = {"kept_share": (0, 0.5)}
GRID: Bounds = {"n_bits": (BITS[0], BITS[-1]), "group_size": (1, 1024)}


@dataclass(frozen=True, kw_only=True)
class Compression:
    """A recipe: parts to remove, then weights to mask, then rounding; nothing by default.

    `removed_heads` counts key/value heads in each layer, `removed_units` is a share of the hidden
    units, `removed_layers` names layers from 0. `sparsity` is the share of the weights in linear
    layers that is set to 0; 2:4 is always a half. `exempt` names modules of what is left, layers or
    matrices, that are not rounded. `kept_share` of the other weights, the rows with most blame, is
    rounded to 8 bits. `activations`: how that is rounded which the rounded linear layers read.
    `text` names what it was calibrated on where that is not said otherwise.
    """

    removed_heads: int = 0
    removed_units: float = 0.0
    removed_layers: tuple[int, ...] = ()
    sparsity: float = 0.0
    criterion: Criterion = Criterion.MAGNITUDE
    pattern: MaskPattern = MaskPattern.ANY
    scope: Scope = Scope.LAYER
    quantization: Quantization | None = None
    rounding: Rounding = Rounding.NEAREST
    exempt: frozenset[str] = frozenset()
    kept_share: float = 0.0
    activations: ActivationRounding | None = None
    seed: int = 0
    text: str = ""

    def __post_init__(self) -> None:
        """Raises `ConfigError` with what cannot be and its mend."""
        if faults := [*_faults(self), *_activation_faults(self)]:
            raise ConfigError(faults)

    @property
    def needs_calibration(self) -> bool:
        """Whether any part of it looks at what the matrices read."""
        takes_out = bool(self.removed_heads or self.removed_units or self.sparsity)
        is_informed = takes_out and self.criterion is Criterion.WANDA
        is_blamed = bool(self.kept_share) or self.rounding is not Rounding.NEAREST
        is_read = self.activations is not None and self.activations.needs_calibration
        return is_informed or (self.quantization is not None and (is_blamed or is_read))


class Asked(NamedTuple):
    """How good a model is on held-out tokens: loss in nats per token, and scores to be averaged.

    Of a task: a score for each draw of questions. Of a text: the bits of each token, and `accuracy`
    is the share of its tokens that ranked first.
    """

    held_out_loss: float
    scores: tuple[float, ...]
    accuracy: float | None = None


@dataclass(frozen=True, eq=False)
class Calibrated:
    """A trained model with the text that it is calibrated and measured on.

    That is its own task's: calibration reads batches that are trained on, scores those that are
    held out. Or it is `text`, with any model: one half calibrates, the other is scored, see
    `on_text`.
    """

    file: ModelFile
    text: str | None = None

    @cached_property
    def model(self) -> Model:
        """The model with the weights of the file."""
        return self.file.build()

    @cached_property
    def spec(self) -> TrainingSpec:
        """How it was trained. Raises `KeyError` or `ConfigError` where its card does not say."""
        if self.file.card is None:
            raise KeyError("card")
        return TrainingSpec.from_plain({**self.file.card.recipe, "device": "cpu"})

    @cached_property
    def task(self) -> Task:
        """What it was trained on. Raises as `spec` does."""
        return build_task(self.spec.task)

    @cached_property
    def examiner(self) -> Examiner | OwnText:
        """What asks the held-out questions, the same for every variant.

        Raises `ConfigError` where the text is too short, or none can be asked of the model.
        """
        if self.text is None:
            return Examiner(self.spec, self.task)
        return own_text(self.file.config, self.file.tokenizer, self.text)

    @cached_property
    def batches(self) -> list[Batch]:
        """The batches that it is calibrated on."""
        if isinstance(self.examiner, OwnText):
            return self.examiner.calibration
        recipe = self.spec.recipe
        draws = (generator(self.spec.seed, "calibration", str(i)) for i in range(N_BATCHES))
        return [self.task.batch(recipe.batch_size, draw) for draw in draws]

    @property
    def is_share(self) -> bool:
        """Whether its score is a share of what was asked; of a text it is bits."""
        return self.text is None and self.spec.task.kind is not TaskKind.TEXT

    @property
    def score_name(self) -> str:
        """What the score counts."""
        return SCORE_NAME if self.text is not None else self.task.score_name

    @property
    def tokenizer(self) -> Tokenizer:
        """What its token ids mean."""
        return self.file.tokenizer

    @property
    def seed(self) -> int:
        """What questions are drawn by; a text is asked whole."""
        return self.spec.seed if self.text is None else 0

    def asked(self, built: nn.Module) -> Asked:
        """Ask a variant, built, what is asked of all."""
        if isinstance(self.examiner, OwnText):
            found = self.examiner.answers(self.examiner.logits_of(built))
            accuracy = float(found.is_right.double().mean())
            return Asked(found.nats, tuple(found.bits.tolist()), accuracy)
        loss = self.examiner.held_out_loss(built, n_batches=N_HELD_OUT)
        return Asked(loss, self.scores(self.examiner.logits_of(built)))

    def scores(self, logits_of: LogitsOf) -> tuple[float, ...]:
        """The scores of a task, one for each draw of its questions."""
        return tuple(self.task.score(logits_of, draw) for draw in self.score_draws)

    @property
    def score_draws(self) -> Iterator[torch.Generator]:
        """What the questions of a score are drawn by, the same for every variant."""
        return (generator(self.seed, "score", str(i)) for i in range(N_SCORES))

    @cached_property
    def own_inputs(self) -> dict[str, Inputs]:
        """What each of its own matrices reads on the calibration text."""
        return calibrate(trained(self.file.config, self.file.tensors), self.batches)

    def inputs_without(
        self, config: ModelConfig, tensors: Mapping[str, Tensor]
    ) -> dict[str, Inputs]:
        """What each matrix reads of a model that some parts may be taken out of."""
        if config == self.file.config:  # none is: its weights are those of the file
            return self.own_inputs
        return calibrate(trained(config, tensors), self.batches)


def on_text(model: ModelFile | Published, text: str) -> Calibrated:
    """Any model with a text to calibrate and to score it on: `measure_variant(on_text(…), "int4")`.

    The first half of the text (of its first 2,048 tokens) calibrates, the second is scored: a GPT
    for each next token, an encoder for tokens that are hidden. Raises `ConfigError` where there is
    no tokenizer, the text is too short, or the model reads two texts.
    """
    if isinstance(model, Published):
        if model.tokenizer is None:
            raise ConfigError([Fault(NO_TOKENIZER)])
        model = ModelFile(model.config, model.tokenizer, None, model.tensors)
    found = Calibrated(model, text)
    _ = found.examiner  # which refuses here what cannot be
    return found


def compress(model: Calibrated, how: Compression) -> ModelFile:
    """The model by this recipe. Raises `ConfigError` as `compressed_config` does."""
    config, tensors = _taken_apart(model, how)
    check_exempt(config, how.exempt)
    inputs = model.inputs_without(config, tensors) if how.needs_calibration else {}
    names = matrix_names(config, tensors)
    tensors |= _masked(tensors, how, names, inputs)
    matrices = _rounded(names, tensors, how, inputs)
    if how.kept_share:
        blames = blamed(model, trained(config, tensors), matrices)
        matrices = _mixed(tensors, how, inputs, matrices, blames)
    tensors |= {name: matrix.values() for name, matrix in matrices.items()}
    reads = _read(config, matrices, how, inputs)
    file = model.file
    new = ModelFile(config, file.tokenizer, file.card, tensors, matrices, reads)
    return new if matrices else _as_before(new, file)


def _as_before(new: ModelFile, before: ModelFile) -> ModelFile:
    """What was rounded before stays so where its values are what they were."""
    still = {
        name: matrix
        for name, matrix in before.quantized.items()
        if name in new.tensors and new.tensors[name].equal(matrix.values())
    }
    reads = {name: each for name, each in before.inputs.items() if name in still}
    return replace(new, quantized=still, inputs=reads)


def _read(
    config: ModelConfig,
    matrices: Mapping[str, Rounded],
    how: Compression,
    inputs: Mapping[str, Inputs],
) -> dict[str, RoundedInput]:
    """What rounded matrices read, where that is rounded too."""
    if how.activations is None:
        return {}
    names = multiplied_weights(build(config, device="meta"))
    multiplied = {name: matrices[name] for name in names if name in matrices}
    return rounded_inputs(multiplied, how.activations, inputs)


def layers(model: Calibrated, how: Compression) -> tuple[tuple[str, ...], ...]:
    """The names of the matrices that a recipe rounds, those of one layer together."""
    names = rounded_names(model.file.config, how.exempt)
    return tuple(tuple(each) for _path, each in groupby(names, layer_path))


def rounded_alone(
    model: Calibrated, how: Compression, names: Iterable[str]
) -> dict[str, QuantizedMatrix]:
    """Some matrices of the whole model on the grid of a recipe, nothing else of it done."""
    inputs = {} if how.rounding is Rounding.NEAREST else model.own_inputs
    grid, tensors = how.quantization or Quantization(), model.file.tensors
    return {
        name: rounded(tensors[name].float(), grid, how.rounding, inputs.get(name)) for name in names
    }


def blamed(model: Calibrated, built: Model, matrices: Mapping[str, Rounded]) -> dict[str, float]:
    """The blame of each rounded matrix on the calibration text, in nats; `built` is one's own."""
    values = {name: matrix.values() for name, matrix in matrices.items()}
    return blame(built, model.batches[:N_BLAMED], values)


def _taken_apart(model: Calibrated, how: Compression) -> tuple[ModelConfig, dict[str, Tensor]]:
    """Layers first, then heads, then units, each chosen by what is left."""
    left = without_layers(model.file.config, model.file.tensors, how.removed_layers)
    tensors = {name: tensor.float() for name, tensor in left.of(model.file.tensors).items()}
    random = generator(how.seed, "compression")

    def choice() -> Choice:
        is_informed = how.criterion is Criterion.WANDA
        inputs = model.inputs_without(left.config, tensors) if is_informed else {}
        return Choice(how.criterion, inputs, random)

    if how.removed_heads:
        left = without_heads(left.config, tensors, how.removed_heads, choice())
        tensors = left.of(tensors)
    if how.removed_units:
        left = without_units(left.config, tensors, how.removed_units, choice())
        tensors = left.of(tensors)
    return left.config, tensors


def compressed_config(config: ModelConfig, how: Compression) -> ModelConfig:
    """The configuration of the variant; nothing is allocated.

    Raises `ConfigError` where nothing would be left, or what is to be exempt is not there.
    """
    config = config_without_layers(config, how.removed_layers)
    if how.removed_heads:
        config = config_without_heads(config, how.removed_heads)
    if how.removed_units:
        config = config_without_units(config, how.removed_units)
    check_exempt(config, how.exempt)
    return config


def matrix_names(config: ModelConfig, tensors: Mapping[str, Tensor]) -> list[str]:
    """The weights of linear layers, in the order in which they run."""
    return [name for name in _linear_weights_of(config) if name in tensors]


@lru_cache(maxsize=64)
def _linear_weights_of(config: ModelConfig) -> tuple[str, ...]:
    return tuple(linear_weights(build(config, device="meta")))


def _masked(
    tensors: Mapping[str, Tensor], how: Compression, names: list[str], inputs: Mapping[str, Inputs]
) -> dict[str, Tensor]:
    if not how.sparsity:
        return {}
    kept = masks(
        {name: tensors[name] for name in names},
        how.sparsity,
        criterion=how.criterion,
        pattern=how.pattern,
        scope=how.scope,
        inputs=inputs,
        random=generator(how.seed, "mask"),
    )
    return {name: tensors[name] * mask for name, mask in kept.items()}


def _mixed(
    tensors: Mapping[str, Tensor],
    how: Compression,
    inputs: Mapping[str, Inputs],
    matrices: Mapping[str, Rounded],
    blames: Mapping[str, float],
) -> dict[str, Rounded]:
    """The same with the rows that are to blame at more bits."""
    grid = how.quantization or Quantization()
    errors = {
        name: row_errors(tensors[name], matrix.values(), inputs.get(name))
        for name, matrix in matrices.items()
    }
    widths = {name: matrix.shape[1] for name, matrix in matrices.items()}
    rows = kept_rows(blames, errors, widths, how.kept_share)
    return {
        name: with_kept_rows(
            tensors[name],
            rows[name],
            grid,
            partial(rounded, how=grid, rounding=how.rounding, inputs=inputs.get(name)),
        )
        for name in matrices
    }


def _rounded(
    names: list[str], tensors: Mapping[str, Tensor], how: Compression, inputs: Mapping[str, Inputs]
) -> dict[str, Rounded]:
    """Every linear layer and the table of embeddings, unless it is exempt."""
    grid = how.quantization
    if grid is None:
        return {}
    is_smooth = how.activations is not None and how.activations.is_smooth
    weights = {name: tensors[name] for name in names if not stands_in(name, how.exempt)}
    scales = smoothing_scales(weights, inputs) if is_smooth else {}
    found: dict[str, Rounded] = {}
    has_table = EMBEDDING in tensors and not stands_in(EMBEDDING, how.exempt)
    for name in (*weights, *([EMBEDDING] if has_table else [])):
        if name in scales:
            found[name] = smoothed(tensors[name], grid, scales[name])
        else:
            found[name] = rounded(tensors[name], grid, how.rounding, inputs.get(name))
    return found


def _faults(how: Compression) -> Iterator[Fault]:
    bounds = {**REMOVED, **KEPT}
    values = {name: getattr(how, name) for name in bounds}
    yield from bound_faults(values, {name: getattr(Compression, name) for name in bounds}, bounds)
    if how.quantization is None:
        if how.exempt:
            text = N_(
                "To keep part of a model in full precision, set a bit width for the rest, "
                "for example {mend}"
            )
            yield Fault(text, {"mend": "int4.exempt-embed"})
        return
    grid, usual = vars(how.quantization), vars(Quantization())
    yield from bound_faults({name: grid[name] for name in GRID}, usual, GRID)
    brings_back = how.rounding is Rounding.GPTQ or how.quantization.range_rule is RangeRule.HQQ
    if how.sparsity and brings_back:
        text = N_(
            "{method} would make masked weights nonzero again: round to nearest, with the "
            "absmax range"
        )
        method = "GPTQ" if how.rounding is Rounding.GPTQ else "HQQ"
        yield Fault(text, {"method": method}, {"rounding": Rounding.NEAREST})


def _activation_faults(how: Compression) -> Iterator[Fault]:
    if how.activations is None:
        return
    bits = {"n_bits": how.activations.n_bits}
    yield from bound_faults(bits, {"n_bits": ActivationRounding.n_bits}, {"n_bits": GRID["n_bits"]})
    if how.quantization is None:
        text = N_(
            "Activations are rounded only together with weights: set a bit width for both, "
            "as in {mend}"
        )
        yield Fault(text, {"mend": "int8.act8"})
    elif how.activations.is_smooth and (how.kept_share or how.rounding is not Rounding.NEAREST):
        text = N_(
            "SmoothQuant works only with plain rounding here: round weights to nearest, all "
            "to the same number of bits"
        )
        yield Fault(text, {}, {"rounding": Rounding.NEAREST})
