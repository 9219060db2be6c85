"""More features than dimensions: where a tiny autoencoder puts them, and finding them again.

Elhage et al. 2022, "Toy Models of Superposition": x' = ReLU(WᵀWx + b) has to say n features again
that went through m dimensions. Where features are rare, it keeps more of them than it has
dimensions, as corners of a polygon. A dictionary that is trained on what went through finds them
again: a top-k sparse autoencoder (Gao et al. 2024, arXiv:2406.04093).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from blocks.model.randomness import generator
from blocks.training.uncompiled import Adam

KEPT_ABOVE = 0.5
"""The length of a feature's direction from which on it counts as kept."""
FOUND_ABOVE = 0.9
"""The cosine from which on a direction counts as found again."""


@dataclass(frozen=True, eq=False)
class ToyKept:
    """After `step` updates: the loss, and a column of `directions` (m, n) for each feature."""

    step: int
    loss: float
    directions: NDArray[np.float32]

    @property
    def lengths(self) -> NDArray[np.float32]:
        """How strongly each feature is represented: (n,)."""
        found: NDArray[np.float32] = np.linalg.norm(self.directions, axis=0)
        return found

    @property
    def n_kept(self) -> int:
        """How many features there are, whatever the number of dimensions."""
        return int((self.lengths > KEPT_ABOVE).sum())

    @property
    def dimensionality(self) -> NDArray[np.float64]:
        """The share of a dimension that each feature has to itself: (n,).

        D_i = |W_i|² / Σ_j (Ŵ_i · W_j)² (Elhage et al. 2022): 1 where it is alone, 1/2 where two
        share a line, 2/5 in a pentagon, 0 where it is not represented.
        """
        w, lengths = self.directions.astype(float), self.lengths.astype(float)
        unit = w / np.maximum(lengths, 1e-12)
        found: NDArray[np.float64] = lengths**2 / np.maximum(((unit.T @ w) ** 2).sum(1), 1e-12)
        return found

    @property
    def gaps(self) -> tuple[float, ...]:
        """Degrees between neighbouring directions that are kept, in the plane."""
        kept = self.directions[:, self.lengths > KEPT_ABOVE]
        if kept.shape[1] < 2:
            return ()
        angles = np.sort(np.degrees(np.arctan2(kept[1], kept[0])))
        return tuple(np.diff(angles, append=angles[0] + 360).tolist())


class Drawn:
    """A series whose examples are drawn anew for each update, looked at after every so many."""

    device: ClassVar[str] = "cpu"
    is_timed: ClassVar[bool] = False
    n_updates: ClassVar[int] = 4000
    every: ClassVar[int] = 100
    batch_size: ClassVar[int] = 1024
    learning_rate: ClassVar[float] = 3e-3

    @property
    def n_steps(self) -> int:
        """How often it is looked at."""
        return self.n_updates // self.every + 1


@dataclass(frozen=True, kw_only=True)
class Toy(Drawn):
    """A toy model as a series. `sparsity`: the share of features that are 0 in an example.

    Feature i counts `importance`ⁱ in the loss. Examples are drawn anew for each update.
    """

    n_features: int = 5
    n_dims: int = 2
    sparsity: float = 0.97
    importance: float = 0.9
    seed: int = 0

    def results(self, done: Sequence[Any]) -> Iterator[ToyKept]:
        """Train from the start on; it takes seconds."""
        random = generator(self.seed, "toy")
        weight = torch.empty(self.n_dims, self.n_features)
        weight.normal_(0, self.n_features**-0.5, generator=random)
        weight, bias = weight.requires_grad_(), torch.zeros(self.n_features, requires_grad=True)
        weights = self.importance ** torch.arange(self.n_features)
        optimizer = Adam([weight, bias], lr=self.learning_rate, fused=True)
        for step in range(self.n_updates + 1):
            x = sparse_features(self.batch_size, self.n_features, self.sparsity, random)
            loss = (weights * (x - (x @ weight.T @ weight + bias).relu()).square()).sum(1).mean()
            if step % self.every == 0 and step // self.every >= len(done):
                yield ToyKept(step, float(loss.detach()), weight.detach().numpy().copy())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def sparse_features(batch: int, n: int, sparsity: float, random: torch.Generator) -> Tensor:
    """Features from 0 to 1, each alone 0 with this probability: (batch, n)."""
    x = torch.rand(batch, n, generator=random)
    return x * (torch.rand(batch, n, generator=random) >= sparsity)


@dataclass(frozen=True, eq=False)
class DictionaryKept:
    """After `step` updates: the share of the variance that is missed; and for each true feature
    the largest cosine with a direction of the dictionary."""

    step: int
    missed: float
    cosines: NDArray[np.float32]

    @property
    def worst(self) -> float:
        """The cosine of the true feature that is found least."""
        return float(self.cosines.min())

    @property
    def n_found(self) -> int:
        """True features that one direction points along."""
        return int((self.cosines > FOUND_ABOVE).sum())


@dataclass(frozen=True, kw_only=True)
class Dictionary(Drawn):
    """A sparse autoencoder that sees n_dims numbers and looks for n_true features, as a series.

    The features are random directions, known by construction; an example is a sum of few of them.
    `n_latents` directions are learned, of which the `n_active` strongest say each example again.
    """

    n_true: int = 40
    n_dims: int = 20
    n_latents: int = 64
    n_active: int = 3
    sparsity: float = 0.95
    seed: int = 0

    def results(self, done: Sequence[Any]) -> Iterator[DictionaryKept]:
        """Train from the start on; the rate falls to 0 over the second half."""
        random = generator(self.seed, "dictionary")
        true = unit(torch.randn(self.n_true, self.n_dims, generator=random))
        decoder = unit(torch.randn(self.n_latents, self.n_dims, generator=random))
        encoder, bias = decoder.clone().requires_grad_(), torch.zeros(self.n_dims)
        decoder, bias = decoder.requires_grad_(), bias.requires_grad_()
        optimizer = Adam([encoder, decoder, bias], lr=self.learning_rate, fused=True)
        for step in range(self.n_updates + 1):
            x = sparse_features(self.batch_size, self.n_true, self.sparsity, random) @ true
            latents = largest(((x - bias) @ encoder.T).relu(), self.n_active)
            missed = (x - bias - latents @ decoder).square().sum()
            missed = missed / (x - x.mean(0)).square().sum()
            if step % self.every == 0 and step // self.every >= len(done):
                cosines = (true @ unit(decoder.detach()).T).amax(1)
                yield DictionaryKept(step, float(missed.detach()), cosines.numpy())
            optimizer.zero_grad()
            missed.backward()
            _set_rate(optimizer, self.learning_rate * min(1.0, 2 - 2 * step / self.n_updates))
            optimizer.step()
            with torch.no_grad():
                decoder.copy_(unit(decoder))


def _set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate


def unit(rows: Tensor) -> Tensor:
    """Rows of length 1."""
    return rows / rows.norm(dim=1, keepdim=True)


def largest(latents: Tensor, n: int) -> Tensor:
    """The n largest of each row; the others are 0."""
    values, places = latents.topk(n, dim=1)
    return torch.zeros_like(latents).scatter(1, places, values)


def polygon_gap(n: int) -> float:
    """Degrees between neighbours where n directions share a plane evenly."""
    return 360 / n if n else math.nan
