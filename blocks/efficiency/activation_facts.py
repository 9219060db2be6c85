"""What rounded activations cost, and the channels that stretch their grids."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from blocks.efficiency.activations import ActivationRounding, smoothing_scales
from blocks.efficiency.compression import Calibrated, Compression, compress, matrix_names
from blocks.efficiency.matrix_places import place_of
from blocks.efficiency.quantization import Quantization
from blocks.weights.rounded_inputs import ActivationGrid


@dataclass(frozen=True)
class ActivationMeasure:
    """One way to round; `how` is None for the model as it is. The loss is in nats per token."""

    how: ActivationRounding | None
    held_out_loss: float
    scores: tuple[float, ...]

    @property
    def score(self) -> float:
        """The mean over the draws."""
        return sum(self.scores) / len(self.scores)


@dataclass(frozen=True, eq=False)
class Channels:
    """What one matrix reads: the largest |x| and |w| of each input (in), plain and smoothed."""

    matrix: str
    inputs: NDArray[np.float32]
    weights: NDArray[np.float32]
    smooth_inputs: NDArray[np.float32]
    smooth_weights: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class ActivationFacts:
    """All ways that were measured, the model as it is first.

    `rows`, of all matrices that read anything: matrix, stack, layer, part, outlier (how many times
    the largest channel that it reads is the median one).
    """

    measures: tuple[ActivationMeasure, ...]
    channels: Channels
    rows: pd.DataFrame
    score_name: str
    is_share: bool

    @property
    def exact(self) -> ActivationMeasure:
        """The model as it is."""
        return self.measures[0]

    def of(self, grid: ActivationGrid, *, is_smooth: bool) -> ActivationMeasure | None:
        """One way; None where it was not measured."""
        return next(
            (
                each
                for each in self.measures
                if each.how and each.how.grid is grid and each.how.is_smooth is is_smooth
            ),
            None,
        )

    @property
    def worst(self) -> ActivationMeasure:
        """The way that loses most."""
        return max(self.measures, key=lambda each: each.held_out_loss)

    @property
    def best(self) -> ActivationMeasure:
        """The way that rounds activations and loses least."""
        rounded = [e for e in self.measures if e.how and e.how.grid is not ActivationGrid.NONE]
        return min(rounded, key=lambda each: each.held_out_loss)


def outlier(sizes: NDArray[np.float32]) -> float:
    """How many times the largest channel is the median one."""
    return float(sizes.max() / max(float(np.median(sizes)), 1e-12))


def ways(n_bits: int) -> tuple[ActivationRounding | None, ...]:
    """Return what to measure: as it is, weights alone, every grid, plain and smoothed."""
    grids = [grid for grid in ActivationGrid if grid is not ActivationGrid.NONE]
    rounded = (
        ActivationRounding(n_bits=n_bits, grid=grid, is_smooth=is_smooth)
        for grid in grids
        for is_smooth in (False, True)
    )
    return (None, ActivationRounding(n_bits=n_bits, grid=ActivationGrid.NONE), *rounded)


def recipe(how: ActivationRounding | None, exempt: frozenset[str] = frozenset()) -> Compression:
    """Weights, a grid per row, and activations at as many bits; without a grid weights alone.

    `exempt`: modules whose weights and activations both stay as they are.
    """
    if how is None:
        return Compression()
    reads = None if how.grid is ActivationGrid.NONE else how
    grid = Quantization(n_bits=how.n_bits)
    return Compression(quantization=grid, activations=reads, exempt=exempt)


def measure_activations(
    model: Calibrated, how: ActivationRounding | None, exempt: frozenset[str] = frozenset()
) -> ActivationMeasure:
    """Round and ask, on held-out questions that are the same for all."""
    built = model.model if how is None else compress(model, recipe(how, exempt)).build()
    asked = model.asked(built)
    return ActivationMeasure(how, asked.held_out_loss, asked.scores)


def activation_facts(
    model: Calibrated, measures: tuple[ActivationMeasure, ...], matrix: str
) -> ActivationFacts:
    """Facts of what was measured, and of `matrix`; where it reads nothing, of the worst."""
    inputs, tensors = model.own_inputs, model.file.tensors
    names = matrix_names(model.file.config, tensors)
    read = {name: tensors[name].float() for name in names if inputs[name].largest.any()}
    stretched = {name: outlier(inputs[name].largest.numpy()) for name in read}
    name = matrix if matrix in read else max(stretched, key=stretched.__getitem__)
    scale, weight = smoothing_scales(read, inputs)[name], read[name].abs().amax(0)
    largest = inputs[name].largest
    values = (largest, weight, largest / scale, weight * scale)
    channels = Channels(name, *(each.to(torch.float32).numpy() for each in values))
    rows = pd.DataFrame([{**place_of(each), "outlier": times} for each, times in stretched.items()])
    return ActivationFacts(measures, channels, rows, model.score_name, model.is_share)
