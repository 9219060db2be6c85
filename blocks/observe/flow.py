"""Information flow: what the values look like at each stage."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

import pandas as pd
import torch
from torch import Tensor

MOMENTS = ("mean", "std", "min", "max", "rms", "outlier_share")
OUTLIER_STDS = 3
SUMMED_ON_CPU = 2**16  # values: 256 KiB, which a cache holds
SUMMED_TOGETHER = 2**23  # elsewhere, where each call is dear: 32 MiB
STAGES_OF_A_LAUNCH = 16
PATH = re.compile(r"(?:(encoder|decoder)\.)?(?:layers\.(\d+)\.)?(.+)")


def moments(x: Tensor) -> Tensor:
    """Sum up all values of a stage, on its device: (len(MOMENTS),), in that order.

    `outlier_share` is the share of values further than 3 standard deviations from the mean:
    0.0027 in a normal distribution.
    """
    return of_rows(x.detach().flatten()[None])[0]


class StageMoments:
    """The moments of stages as they pass: those of a shape together, one that passes twice once.

    `counted`: which positions count, (seq,), of stages that are (batch, seq, features); None: all.
    """

    def __init__(self, counted: Tensor | None = None) -> None:
        self.counted = counted
        self._n_counted: Tensor | None = None
        self._waiting: dict[torch.Size, list[tuple[int, Tensor]]] = {}
        self._n_waiting = 0
        self._last: Tensor | None = None
        self._batches: list[Tensor] = []
        self._summed: list[int] = []
        self._rows: list[int] = []

    def add(self, x: Tensor) -> None:
        """Note the next stage; what waits to be summed up together stays small."""
        if x is self._last:
            self._rows.append(self._rows[-1])
            return
        self._last = x
        self._rows.append(self._rows[-1] + 1 if self._rows else 0)
        self._waiting.setdefault(x.shape, []).append((self._rows[-1], x))
        self._n_waiting += x.numel()
        is_launch = len(self._waiting[x.shape]) == STAGES_OF_A_LAUNCH and not x.is_cpu
        if is_launch or self._n_waiting >= (SUMMED_ON_CPU if x.is_cpu else SUMMED_TOGETHER):
            self._sum_up()

    def rows(self) -> Tensor:
        """One row per stage: (n_stages, len(MOMENTS))."""
        self._sum_up()
        summed = (row for batch in self._batches for row in batch.unbind())
        by_row = dict(zip(self._summed, summed, strict=True))
        return torch.stack([by_row[row] for row in self._rows])

    def _sum_up(self) -> None:
        for waiting in self._waiting.values():
            rows, stages = zip(*waiting, strict=True)
            self._summed += rows
            self._batches.append(self._of_each(stages))
        self._waiting, self._n_waiting = {}, 0

    def _of_each(self, stages: Sequence[Tensor]) -> Tensor:
        """Moments of stages of one shape: (n_stages, len(MOMENTS))."""
        flat, counted = [stage.detach().flatten() for stage in stages], self.counted
        own = own_kernels() if flat[0].is_cuda else None
        if own is None:
            counts = None if counted is None else counted[:, None].expand(stages[0].shape).flatten()
            return of_rows(torch.stack(flat) if len(flat) > 1 else flat[0][None], counts)
        if self._n_counted is None:
            is_one = torch.ones(1, dtype=torch.bool, device=flat[0].device)
            self._n_counted = (is_one if counted is None else counted).sum()
        if counted is None:
            return own(flat, 1, len(flat[0]), self._n_counted)
        return own(flat, len(counted), stages[0].shape[-1], self._n_counted)


def of_rows(x: Tensor, counts: Tensor | None = None) -> Tensor:
    """Moments of each row of `x`, (n_stages, values), of the values that count, (values,)."""
    x = x.float()
    if counts is None:
        n: int | Tensor = x.shape[1]
        mean = x.sum(dim=1) / n
    else:
        n = counts.sum()
        mean = torch.where(counts, x, 0).sum(dim=1) / n
        x = torch.where(counts, x, mean[:, None])  # no distance off, neither least nor most
    squares = (x - mean[:, None]).square_()
    var = squares.sum(dim=1) / n
    is_outlier = squares.gt_(OUTLIER_STDS**2 * var[:, None])  # still in float32: twice as fast
    columns = (
        mean,
        var.sqrt(),
        x.amin(dim=1),
        x.amax(dim=1),
        (mean.square() + var).sqrt(),
        is_outlier.sum(dim=1) / n,
    )
    return torch.stack(columns, dim=1)


@lru_cache(maxsize=1)
def own_kernels() -> Callable[[Sequence[Tensor], int, int, Tensor], Tensor] | None:
    """Kernels that do the same in fewer readings, where they run.

    They are tried once: Triton, a compiler for it, or what it knows of the card may be missing.
    """
    from blocks.observe.kernels import moments_of_each  # Triton takes its time

    try:
        moments_of_each([torch.zeros(1, device="cuda")], 1, 1, torch.tensor(1, device="cuda"))
    except Exception:
        return None
    return moments_of_each


def frame(stages: Sequence[str], values: Tensor) -> pd.DataFrame:
    """One row per stage in the order of passing: layer, stage, and its moments.

    `layer` is missing where a stage lies outside the layers. Of an encoder–decoder the first
    column is `stack`, which says in which half.
    """
    stacks, layers, names = zip(*map(_split, stages), strict=True)
    numbers = zip(MOMENTS, values.cpu().numpy().T, strict=True)
    columns = {"layer": pd.array(layers, dtype="Int64"), "stage": names, **dict(numbers)}
    return pd.DataFrame({"stack": stacks, **columns} if any(stacks) else columns)


def _split(path: str) -> tuple[str, int | None, str]:
    stack, layer, stage = PATH.fullmatch(path).groups()  # type: ignore[union-attr]  # any matches
    return stack or "", None if layer is None else int(layer), stage
