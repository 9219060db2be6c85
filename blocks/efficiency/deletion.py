"""Trained models of which sub-layers are deleted and layers swapped, with nothing trained again.

Veit et al. 2016, figures 3 to 5: a residual network hardly suffers where a layer is deleted or
moved, one without the connection does not survive it. To delete a sub-layer is to pass around it,
its norm included: x goes on as it came.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise

import torch
from torch import Tensor, nn

from blocks.efficiency.compression import N_HELD_OUT, Calibrated
from blocks.efficiency.own_text import OwnText
from blocks.model.layers import ParallelLayer
from blocks.model.models import Model, assemble
from blocks.model.randomness import generator
from blocks.model.residual import Residual

N_ORDERS, DEEP = 3, 16
"""Of more layers than so many whole ones go, half of them at most, and neighbors are swapped."""


@dataclass(frozen=True)
class Change:
    """Paths of the sub-layers that are deleted, and of two layers that change places."""

    deleted: tuple[str, ...] = ()
    swapped: tuple[str, str] | None = None


@dataclass(frozen=True)
class Changed:
    """What a model still can do: score of its task, and held-out loss in nats per token."""

    change: Change
    score: float
    held_out_loss: float


class PassedAround(nn.Module):
    """Nothing is added and nothing normalised: what a deleted sub-layer leaves."""

    def forward(self, x: Tensor, *_read: object) -> Tensor:
        """The same."""
        return x


def sublayer_paths(model: Model) -> tuple[str, ...]:
    """What can be deleted, in the order in which it runs; a parallel layer is one."""
    kinds = Residual, ParallelLayer
    return tuple(path for path, each in model.named_modules() if isinstance(each, kinds))


def parts(model: Model) -> tuple[str, ...]:
    """What is deleted: sub-layers, of a deep model whole layers."""
    if is_deep(model):
        return tuple(path for paths in _stacks(model) for path in paths)
    return sublayer_paths(model)


def is_deep(model: Model) -> bool:
    """Whether single sub-layers and all pairs would be too many."""
    return sum(map(len, _stacks(model))) > DEEP


def swaps(model: Model) -> tuple[tuple[str, str], ...]:
    """All pairs of layers of one stack; of a deep model neighbors."""
    if is_deep(model):
        return tuple(pair for paths in _stacks(model) for pair in pairwise(paths))
    return tuple(pair for paths in _stacks(model) for pair in combinations(paths, 2))


def _stacks(model: Model) -> Iterator[list[str]]:
    for path, each in model.named_modules():
        if isinstance(each, nn.ModuleList) and path.rpartition(".")[2] == "layers":
            yield [f"{path}.{i}" for i in range(len(each))]


def changed_model(model: Calibrated, change: Change) -> Model:
    """A model of its own, changed."""
    built = assemble(model.file.config, {n: t.float() for n, t in model.file.tensors.items()})
    for path in change.deleted:
        built.set_submodule(path, PassedAround())
    if change.swapped:
        one, other = (built.get_submodule(path) for path in change.swapped)
        for path, layer in zip(change.swapped, (other, one), strict=True):
            built.set_submodule(path, layer)
    return built


def measure_change(model: Calibrated, change: Change) -> Changed:
    """Change it and ask it, the same held-out questions each time."""
    built, examiner = changed_model(model, change), model.examiner
    if isinstance(examiner, OwnText):  # one look says both
        loss = examiner.held_out_loss(built)
        return Changed(change, loss / math.log(2), loss)
    return Changed(
        change=change,
        score=examiner.score(built),
        held_out_loss=examiner.held_out_loss(built, n_batches=N_HELD_OUT),
    )


def singles(model: Model) -> tuple[Change, ...]:
    """The model as it is, each of its `parts` deleted alone, each of the `swaps` made."""
    deleted = (Change((path,)) for path in parts(model))
    return (Change(), *deleted, *(Change(swapped=pair) for pair in swaps(model)))


def least_first(model: Model, measured: tuple[Changed, ...]) -> tuple[Change, ...]:
    """More and more deleted, those first whose loss alone is least, as it was measured."""
    alone = [each for each in measured if len(each.change.deleted) == 1]
    order = [e.change.deleted[0] for e in sorted(alone, key=lambda e: e.held_out_loss)]
    return _growing(order[: n_growing(model)])


def at_random(model: Model, seed: int) -> tuple[Change, ...]:
    """More and more deleted in an order that is drawn: the control."""
    paths = parts(model)
    draw = generator(seed, "deleted sub-layers")
    order = torch.randperm(len(paths), generator=draw).tolist()
    return _growing([paths[i] for i in order[: n_growing(model)]])


def n_growing(model: Model) -> int:
    """How many are deleted together at most: all, of a deep model half."""
    n = len(parts(model))
    return n // 2 if is_deep(model) else n


def _growing(order: list[str]) -> tuple[Change, ...]:
    return tuple(Change(tuple(sorted(order[:n]))) for n in range(1, len(order) + 1))
