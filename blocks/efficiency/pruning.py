"""Weights that are left out: masks over single numbers, and parts taken out whole."""

from collections.abc import Mapping
from enum import StrEnum

import torch
from torch import Tensor

from blocks.efficiency.calibration import Inputs


class Criterion(StrEnum):
    """Which weights go first: those with the lowest score."""

    MAGNITUDE = "magnitude"
    WANDA = "wanda"
    RANDOM = "random"


class MaskPattern(StrEnum):
    """Which patterns of masked weights are allowed."""

    ANY = "any"
    TWO_FOUR = "2:4"


class Scope(StrEnum):
    """Among which weights the lowest are sought."""

    LAYER = "layer"
    GLOBAL = "global"


def scores(
    weight: Tensor, criterion: Criterion, inputs: Inputs | None, random: torch.Generator
) -> Tensor:
    """How much each weight of a matrix (out, in) counts.

    Magnitude: |w| (Han et al. 2015). Wanda: |w| · ‖x‖ of its input (Sun et al. 2023, equation 1).
    Random: the control.
    """
    if criterion is Criterion.RANDOM:
        return torch.rand(weight.shape, generator=random)
    size = weight.float().abs()
    return size * inputs.norms if criterion is Criterion.WANDA and inputs is not None else size


def lowest_masked(scores: Tensor, share: float) -> Tensor:
    """A mask (True: kept) without the given share of lowest scores, counted exactly."""
    n_out = round(share * scores.numel())
    kept = torch.ones(scores.numel(), dtype=torch.bool)
    kept[scores.flatten().argsort(stable=True)[:n_out]] = False
    return kept.reshape(scores.shape)


def rows_masked(scores: Tensor, share: float) -> Tensor:
    """The same within each row, as Wanda compares: weights that meet in one output."""
    n_out = round(share * scores.shape[1])
    places = scores.argsort(dim=1, stable=True)[:, :n_out]
    return torch.ones_like(scores, dtype=torch.bool).scatter(1, places, False)


def two_of_four(scores: Tensor) -> Tensor:
    """Mark the two highest of every four adjacent weights in a row (Mishra et al. 2021).

    A row whose length four does not divide keeps its last numbers.
    """
    n_out, n_in = scores.shape
    whole = n_in - n_in % 4
    fours = scores[:, :whole].reshape(n_out, -1, 4)
    best = fours.argsort(dim=2, stable=True, descending=True)[:, :, :2]
    kept = torch.zeros_like(fours, dtype=torch.bool).scatter(2, best, True)
    rest = torch.ones(n_out, n_in - whole, dtype=torch.bool)
    return torch.cat([kept.reshape(n_out, whole), rest], dim=1)


def masks(
    weights: Mapping[str, Tensor],
    share: float,
    *,
    criterion: Criterion,
    pattern: MaskPattern,
    scope: Scope,
    inputs: Mapping[str, Inputs],
    random: torch.Generator,
) -> dict[str, Tensor]:
    """A mask for each matrix, True where a weight is kept."""
    found = {
        name: scores(weight, criterion, inputs.get(name), random)
        for name, weight in weights.items()
    }
    if pattern is MaskPattern.TWO_FOUR:
        return {name: two_of_four(each) for name, each in found.items()}
    if scope is Scope.GLOBAL:
        return _global_masks(found, share)
    masked = rows_masked if criterion is Criterion.WANDA else lowest_masked
    return {name: masked(each, share) for name, each in found.items()}


def _global_masks(found: Mapping[str, Tensor], share: float) -> dict[str, Tensor]:
    kept = lowest_masked(torch.cat([each.flatten() for each in found.values()]), share)
    parts = kept.split([each.numel() for each in found.values()])
    return {
        name: part.reshape(each.shape)
        for (name, each), part in zip(found.items(), parts, strict=True)
    }
