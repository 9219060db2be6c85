"""Weights as they were at some steps, close together at the start and far apart later."""

from math import cbrt
from typing import Protocol

from torch import Tensor, nn

from blocks.weights.tensors import are_finite, bytes_of, read_weights


def is_snapshot_step(step: int, n_steps: int) -> bool:
    """Whether to look back at this step: 0, 1, 2, 3, 4, 6, 8, 12, 16, … and the last.

    What a model learns comes in the beginning: the loss falls with the logarithm of the step.
    """
    below_two_bits = max(0, step.bit_length() - 2)
    return step >> below_two_bits << below_two_bits == step or step == n_steps


class Keeper(Protocol):
    """A store of weights by step."""

    def take(self, step: int, model: nn.Module) -> bool:
        """Copy the weights of now, unless one is no number."""
        ...


class Snapshots:
    """Weights by step, on the CPU, together never more than `most_bytes` (but always the newest).

    Where they would take more, the one whose neighbours are closest in ∛step goes: what stays is
    close together at first, and not too far apart where a head begins late; the first and the last
    stay. One thread takes, others may read.
    """

    def __init__(self, most_bytes: int):
        self.most_bytes = most_bytes
        self._kept: dict[int, dict[str, Tensor]] = {}

    @property
    def steps(self) -> tuple[int, ...]:
        """The steps that are kept, ascending."""
        return tuple(self._kept)

    @property
    def total_bytes(self) -> int:
        """What all of them take."""
        return sum(map(bytes_of, self._kept.values()))

    def take(self, step: int, model: nn.Module) -> bool:
        """Copy the weights of now, unless one is no number; `step` is later than those before."""
        weights = read_weights(model)
        if not are_finite(weights):
            return False
        self.keep(step, weights)
        return True

    def keep(self, step: int, weights: dict[str, Tensor]) -> None:
        """Keep weights that nothing else writes to."""
        kept = self._kept | {step: weights}
        while len(kept) > 1 and sum(map(bytes_of, kept.values())) > self.most_bytes:
            del kept[_least_missed([*kept])]
        self._kept = kept  # one assignment: a reader sees the old ones or the new ones

    def go_back(self, step: int) -> None:
        """Forget what is later."""
        self._kept = {each: kept for each, kept in self._kept.items() if each <= step}

    def at(self, step: int) -> tuple[int, dict[str, Tensor]]:
        """The kept step nearest to `step`, and its weights; KeyError where none is kept."""
        kept = self._kept
        if not kept:
            raise KeyError(step)
        nearest = min(kept, key=lambda each: abs(each - step))
        return nearest, kept[nearest]


def _least_missed(steps: list[int]) -> int:
    """The inner step whose neighbours are closest in ∛step; of two steps the first."""
    if len(steps) == 2:
        return steps[0]
    gaps = {
        step: cbrt(after) - cbrt(before)
        for before, step, after in zip(steps, steps[1:], steps[2:], strict=False)
    }
    return min(gaps, key=lambda step: gaps[step])
