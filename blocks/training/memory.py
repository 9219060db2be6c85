"""How much memory a training will take, estimated before anything is allocated."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from blocks.cost.fitting import Sizes, fitting, sizes_of, with_mend
from blocks.cost.parameters import total_parameters
from blocks.cost.units import bytes_text
from blocks.model.config import ModelConfig
from blocks.model.faults import N_, Fault
from blocks.training.optimizers import count_states, weight_dtype
from blocks.training.recipe import Recipe
from blocks.training.spec import TrainingSpec

SCORED_ROWS = 256  # the most that a task asks at once for its score


@dataclass(frozen=True)
class TrainingMemory:
    """Bytes of a training: weights with gradients, what optimizers keep, what passes."""

    weights: int
    optimizer: int
    activations: int

    @property
    def total(self) -> int:
        """All together."""
        return self.weights + self.optimizer + self.activations


def estimate_training_memory(
    config: ModelConfig, *, recipe: Recipe, seq_len: int, dtype: torch.dtype
) -> TrainingMemory:
    """Estimate the bytes of a training step from above.

    Weights, their gradients and the optimizer's numbers are exact; the last good state is kept
    too, as a second copy of weights and optimizer. In a format narrower than float32 the model
    that runs has weights and gradients of its own.
    """
    n_bytes = total_parameters(config) * torch.float32.itemsize
    narrow = 0 if dtype is torch.float32 else 2 * total_parameters(config) * dtype.itemsize
    states = count_states(recipe)
    return TrainingMemory(
        weights=3 * n_bytes + narrow,
        optimizer=2 * states * n_bytes,
        activations=_activations(config, recipe.batch_size, seq_len, dtype),
    )


def teacher_bytes(config: ModelConfig, *, batch_size: int, seq_len: int) -> int:
    """What a teacher takes beside its student: its weights, and a pass of which much is compared.

    In float32; kept are the stream and the patterns of each layer, and its logits twice.
    """
    n_layers = config.n_layers + config.n_decoder_layers
    compared = n_layers * (config.d_model + 2 * config.n_heads * seq_len)
    passing = _numbers_a_token(config, seq_len) // 2 + 2 * config.vocab_size
    numbers = total_parameters(config) + batch_size * seq_len * (compared + passing)
    return numbers * torch.float32.itemsize


def _activations(config: ModelConfig, batch_size: int, seq_len: int, dtype: torch.dtype) -> int:
    """Activations saved for backward, or held for scoring, whichever is more.

    An encoder–decoder reads two rows, one in each half. The logits are there four times in
    float32: as such, as log-probabilities, and both gradients; twice where they are only scored. A
    module that predicts further ahead has a layer, what it joins, and logits of its own.
    Without gradients at most half of one layer is alive.
    """
    itemsize = max(dtype.itemsize, torch.float32.itemsize)
    layer = _numbers_a_token(config, seq_len)
    decoder_layer = layer + (8 * config.d_model + _numbers_of_heads(config, seq_len))
    layers = config.n_layers * layer + config.n_decoder_layers * decoder_layer
    layers += config.n_mtp_modules * (layer + 8 * config.d_model + 4 * config.vocab_size)
    widest = decoder_layer if config.n_decoder_layers else layer
    training = batch_size * (layers + 4 * config.vocab_size)
    scoring = SCORED_ROWS * (widest // 2 + 2 * config.vocab_size)
    return max(training, scoring) * seq_len * itemsize


def _numbers_of_heads(config: ModelConfig, seq_len: int) -> int:
    """What one attention keeps for each token: four matrices a head, and its patterns."""
    heads = config.d_qk * (4 * config.n_heads + 4 * config.n_kv_heads)
    return heads + (8 if config.dropout else 2) * config.n_heads * seq_len


def _numbers_a_token(config: ModelConfig, seq_len: int) -> int:
    """What one layer keeps for each token.

    Its input, both norms and branches; four matrices a head; the hidden values before and after
    the activation; with dropout the pattern and what was drawn for it; with experts the hidden
    values of each that a token passes, what they read and wrote, and the router's choices.
    """
    hidden = 8 * config.n_hidden
    routed = 4 * config.n_experts + 4 * config.n_active_experts * config.d_model
    return (
        16 * config.d_model
        + _numbers_of_heads(config, seq_len)
        + hidden
        + (routed if config.n_experts > 1 else 0)
    )


def training_memory_fault(spec: TrainingSpec, budget: int) -> Fault | None:
    """What is wrong where a training would not fit into `budget` bytes, with sizes that do fit."""
    return mended(spec, lambda smaller: memory_fault(smaller, budget))


def memory_fault(spec: TrainingSpec, budget: int) -> Fault | None:
    """Where a training takes more than `budget` bytes; `mended` ends the sentence."""
    need = estimate_training_memory(
        spec.config,
        recipe=spec.recipe,
        seq_len=spec.task.seq_len,
        dtype=weight_dtype(spec.recipe, spec.device),
    )
    if spec.teaching is not None:
        config, batch_size = spec.teaching.teacher.config, spec.recipe.batch_size
        taught = teacher_bytes(config, batch_size=batch_size, seq_len=spec.task.seq_len)
        need = replace(need, activations=need.activations + taught)
    if need.total <= budget:
        return None
    text = N_(
        "This training needs about {need} ({weights} of weights and gradients, {optimizer} of "
        "optimizer state, {activations} of activations), more than the {budget} allowed here: "
        "use {choice}"
    )
    values = {
        "need": bytes_text(need.total),
        "weights": bytes_text(need.weights),
        "optimizer": bytes_text(need.optimizer),
        "activations": bytes_text(need.activations),
        "budget": bytes_text(budget),
    }
    return Fault(text, values)


def mended(spec: TrainingSpec, fault_of: Callable[[TrainingSpec], Fault | None]) -> Fault | None:
    """What is wrong with a training's sizes, and sizes with which nothing is."""
    if (fault := fault_of(spec)) is None:
        return None
    asked = {
        "batch_size": spec.recipe.batch_size,
        "seq_len": spec.task.seq_len,
        **sizes_of(spec.config),
    }
    shortest, _longest = spec.task.kind.seq_len_bounds
    sizes = fitting(asked, lambda sizes: fault_of(_resized(spec, sizes)) is None, seq_len=shortest)
    return with_mend(fault, sizes)


def _resized(spec: TrainingSpec, sizes: Sizes) -> TrainingSpec:
    """The training with other sizes in place of its own."""
    shape = dict(sizes)
    batch_size = shape.pop("batch_size", spec.recipe.batch_size)
    seq_len = shape.pop("seq_len", spec.task.seq_len)
    return replace(
        spec,
        config=spec.config.nearest(**shape)[0],
        recipe=replace(spec.recipe, batch_size=batch_size),
        task=replace(spec.task, seq_len=seq_len),
    )
