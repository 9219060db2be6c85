"""What a model is retrained without: single weights, or parts with their matrices, by shares."""

from enum import StrEnum

import torch

from blocks.efficiency.compression import Calibrated, Compression
from blocks.efficiency.mixed import mean_loss
from blocks.efficiency.pruning import Criterion
from blocks.efficiency.structured import (
    Choice,
    Left,
    Tensors,
    config_without_heads,
    config_without_layers,
    config_without_units,
    depth_of,
    without_heads,
    without_layers,
    without_units,
)
from blocks.model.config import ModelConfig
from blocks.model.faults import ConfigError, Fault
from blocks.model.randomness import generator
from blocks.weights.model_file import trained

WEIGHT_SHARES, PART_SHARES = (0.5, 0.7, 0.8, 0.9), (0.25, 0.5, 0.75, 0.9)


class Removed(StrEnum):
    """What is removed: single weights by a mask, or parts, so that matrices become smaller."""

    WEIGHTS = "weights"
    HEADS = "heads"
    HIDDEN_UNITS = "hidden_units"
    LAYERS = "layers"


def n_parts(config: ModelConfig, removed: Removed) -> int:
    """How many parts there are: heads or units of a layer, or layers."""
    return {
        Removed.HEADS: config.n_kv_heads,
        Removed.HIDDEN_UNITS: config.d_ff,
        Removed.LAYERS: depth_of(config),
    }[removed]


def config_without(config: ModelConfig, removed: Removed, share: float) -> ModelConfig:
    """The configuration with a share of the parts gone; of masked weights it is the same.

    Raises `ConfigError` where the model cannot do without any.
    """
    if removed is Removed.WEIGHTS:
        return config
    n = round(share * n_parts(config, removed))
    match removed:
        case Removed.HEADS:
            return config_without_heads(config, n)
        case Removed.HIDDEN_UNITS:
            return config_without_units(config, n / config.d_ff)
        case _:
            return config_without_layers(config, tuple(range(n)))


def removal_fault(config: ModelConfig, removed: Removed) -> Fault | None:
    """Why a model cannot do without a single one; None where it can."""
    try:
        if removed is not Removed.WEIGHTS:
            config_without(config, removed, 1 / n_parts(config, removed))
    except ConfigError as error:
        return error.faults[0]
    return None


def shares_of(config: ModelConfig, removed: Removed) -> tuple[float, ...]:
    """The shares that are removed, the least first: those that come to whole parts, not to all."""
    if removed is Removed.WEIGHTS:
        return WEIGHT_SHARES
    if removal_fault(config, removed):
        return ()
    n = n_parts(config, removed)
    counts = {round(share * n) for share in PART_SHARES} - {0, n}
    return tuple(count / n for count in sorted(counts))


def left_of(
    model: Calibrated, config: ModelConfig, tensors: Tensors, removed: Removed, n_removed: int
) -> Left:
    """What is left of weights of this configuration without so many more parts.

    Heads and units go by magnitude, layers by `least_needed`; `model` has the text for these.
    """
    choice = Choice(Criterion.MAGNITUDE, {}, generator(model.seed, "parts"))
    match removed:
        case Removed.HEADS:
            return without_heads(config, tensors, n_removed, choice)
        case Removed.HIDDEN_UNITS:
            return without_units(config, tensors, n_removed / config.d_ff, choice)
        case _:
            layers = least_needed(model, config, tensors, n_removed)
            return without_layers(config, tensors, layers)


@torch.no_grad()
def least_needed(
    model: Calibrated, config: ModelConfig, tensors: Tensors, n_removed: int
) -> tuple[int, ...]:
    """So many layers, from 0: one after the other that without which the loss is least.

    On the calibration text, as SLEB does (Song et al. 2024).
    """
    gone: tuple[int, ...] = ()

    def loss_without(layer: int) -> float:
        left = without_layers(config, tensors, (*gone, layer))
        return mean_loss(trained(left.config, left.of(tensors)), model.batches)

    for _ in range(n_removed):
        stay = (layer for layer in range(depth_of(config)) if layer not in gone)
        gone = (*gone, min(stay, key=loss_without))
    return tuple(sorted(gone))


def recipe_without(model: Calibrated, removed: Removed, share: float) -> Compression:
    """The recipe of a model with this share removed and nothing retrained."""
    file = model.file
    if removed is Removed.WEIGHTS:
        return Compression(sparsity=share)
    n = round(share * n_parts(file.config, removed))
    match removed:
        case Removed.HEADS:
            return Compression(removed_heads=n)
        case Removed.HIDDEN_UNITS:
            return Compression(removed_units=round(share, 2))  # as its name can say it
        case _:
            return Compression(removed_layers=least_needed(model, file.config, file.tensors, n))
